"""The unix sockets of a node's plugins, and what must not be among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stormpool.audit import allocations

if TYPE_CHECKING:
    from stormpool.audit.look import Look

LISTENS = 0x10000  # of a socket's flags: __SO_ACCEPTCON (linux/net.h)
CONNECTED = "03"  # a socket's state: SS_CONNECTED (linux/net.h)
GO_PLUGIN = re.compile(r"/plugin\d+$")  # how go-plugin names its sockets (server.go, serverListener_unix)
CSI_PLUGIN = re.compile(rf"/client/csi/.*?({allocations.ID})/[^/]+$")  # in the directory of its allocation


@dataclass(frozen=True)
class Socket:
    """One unix socket that is bound to a path; one that was accepted has its listener's."""

    path: str  # as its process sees it
    inode: int
    listens: bool
    connected: bool


def parsed(lines: Iterable[str]) -> list[Socket]:
    """The sockets in lines of /proc/net/unix."""
    found = []
    for line in lines:
        words = line.split(maxsplit=7)
        if len(words) == 8 and words[6].isdigit():
            listens = bool(int(words[3], 16) & LISTENS)
            found.append(Socket(words[7], int(words[6]), listens, words[5] == CONNECTED))
    return found


def dead(look: Look) -> Iterator[str]:
    """Socket files of plugins at which nobody listens."""
    listening = {socket.path: socket for socket in look.sockets if socket.listens}
    for path in look.socket_files:
        of_alloc = CSI_PLUGIN.search(path)
        if path not in listening and not (of_alloc and _listens_inside(look, of_alloc[1], path)):
            yield f"nobody listens at {path}"


def _listens_inside(look: Look, alloc: str, path: str) -> bool:
    """Whether a plugin that sees its directory elsewhere, in a container, listens there."""
    name = path.rpartition("/")[2]
    inodes = {each.inode for each in look.sockets if each.listens and each.path.rpartition("/")[2] == name}
    return any(inodes & each.sockets for each in look.processes.values() if each.alloc == alloc)


def unheard(look: Look) -> Iterator[str]:
    """Plugins and executors that listen for an agent, and to which none is connected.

    An agent stays connected for as long as it has use for them, and connects again to those that outlived it
    (go-plugin, `Reattach`). Not so to the logmon of a task that had ended meanwhile (Nomad 1.6.1, as seen):
    of logmons `remains` tells, once their allocation is gone.
    """
    connected = {socket.path for socket in look.sockets if socket.connected}
    for process in look.processes.values():
        if process.is_plugin or process.companion == "executor":
            paths = [each.path for each in look.sockets if each.listens and each.inode in process.sockets]
            own = [path for path in paths if process.is_plugin or GO_PLUGIN.search(path)]
            if own and connected.isdisjoint(own):
                yield f"{process} listens at {' and '.join(own)}, and no agent is connected to it"
