"""One look at a node: what its kernel shows of processes, mounts, sockets and files of Nomad's."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from stormpool.audit import allocations, processes, sockets
from stormpool.audit.mounts import Mount
from stormpool.audit.processes import Process
from stormpool.audit.sockets import Socket

KERNEL = Path(__file__).with_name("look.sh").read_text()
PLACES = ("PLUGIN_UNIX_SOCKET_DIR", "TMPDIR")  # where go-plugin puts its sockets, else in /tmp


@dataclass(frozen=True)
class Look:
    """What a node showed at about one time."""

    processes: Mapping[int, Process]
    mounts: tuple[Mount, ...] = ()
    sockets: tuple[Socket, ...] = ()
    socket_files: tuple[str, ...] = ()  # of plugins
    known: frozenset[str] = frozenset()  # the allocations that have a directory of their own
    cgroups: tuple[str, ...] = ()  # of allocations' tasks: the path, and a process in it if there is any
    namespaces: tuple[str, ...] = ()
    has_zfs: bool = False  # whether its kernel serves ZFS, or a daemon does
    by_root: bool = True

    @cached_property
    def clients(self) -> list[Process]:
        """The agents that run tasks."""
        return [each for each in self.processes.values() if each.is_client]

    def knows(self, alloc: str) -> bool:
        """Whether an agent that runs here knows an allocation: it keeps its directory for as long."""
        return bool(self.clients) and alloc in self.known

    @property
    def why_unknown(self) -> str:
        """Why an allocation is not known, after its name."""
        return "whose directory is gone" if self.clients else "and no Nomad client runs here"


def sections(said: str) -> dict[str, list[str]]:
    """The parts of what a script says, each below a line `== NAME`."""
    found: dict[str, list[str]] = {}
    for line in said.split("\n"):  # a process may be called with any other end of a line
        if line.startswith("== "):
            found[line[3:]] = []
        elif line and found:
            found[next(reversed(found))].append(line)
    return found


def parsed(kernel: Mapping[str, list[str]], files: Mapping[str, list[str]], found: Iterable[Mount]) -> Look:
    """A look, of what the two scripts say and of what is mounted."""
    return Look(
        processes=processes.parsed(kernel),
        mounts=tuple(found),
        sockets=tuple(sockets.parsed(kernel["unix"])),
        socket_files=tuple(files["sockets"]),
        known=frozenset(filter(None, (path.split("/")[-2] for path in files["known"]))),
        cgroups=tuple(kernel["cgroups"]),
        namespaces=tuple(kernel["namespaces"]),
        has_zfs=len(kernel["zfs"]) == 3,  # both commands, and what serves them
        by_root=kernel["user"] == ["0"],
    )


def files(running: Iterable[Process], found: Iterable[Mount]) -> str:
    """What asks for the files that tell which allocations are known, and for the sockets of plugins."""
    running = list(running)
    own = set(chain.from_iterable(each.data_dirs for each in running))
    paths = [
        *chain.from_iterable((*each.words, *each.paths) for each in running),
        *(each.point for each in found),
    ]
    data = own or allocations.data_dirs(paths)
    roots = {*(f"{each}/alloc" for each in data), *allocations.roots(paths)}
    theirs = [each for each in running if each.is_agent or each.is_plugin or each.companion]
    named = {each.environment[name] for each in theirs for name in PLACES if name in each.environment}
    # `find` says //plugin of a place that ends in a stroke, and no pattern with one is like it.
    places = sorted(map(shlex.quote, {"/tmp", *filter(None, (each.rstrip("/") for each in named))}))
    return "\n".join(
        [
            "exec 2>/dev/null; echo == known",
            *(f"ls -d {shlex.quote(root)}/*/alloc" for root in sorted(roots)),
            "echo == sockets",
            *(f"find {shlex.quote(each)}/client/csi -maxdepth 4 -type s" for each in sorted(data)),
            *(f"find {at} -maxdepth 2 -type s -path {at}/'plugin*' -name 'plugin*'" for at in places),
            "true",
        ]
    )
