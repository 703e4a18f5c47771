"""One process of the plugin, started on its node as an agent starts it, with its two outputs kept apart."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeVar, cast

from stormpool.conform.external.asking import Asking
from stormpool.conform.external.observe import MARK
from stormpool.errors import TimedOut
from stormpool.goplugin.drive import Driven
from stormpool.goplugin.handshake import COOKIE, COOKIE_VALUE
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.process import PluginProcess, Running
from stormpool.node import Node, Nodes
from stormpool.wait import wait_until

KILLED_WITHIN = 10.0  # seconds until a process that was killed is gone
RELAY_WITHIN = 10.0  # seconds until a relay to a socket listens

# What is in its environment beside all that is in its agent's (go-plugin, client.go, Start).
# Nomad's agents set no PLUGIN_UNIX_SOCKET_DIR: temporary files are where TMPDIR says.
AGENT = {
    COOKIE: COOKIE_VALUE,
    "PLUGIN_MIN_PORT": "10000",
    "PLUGIN_MAX_PORT": "25000",
    "PLUGIN_PROTOCOL_VERSIONS": "2",
}
NUMBERS = itertools.count(1)
# Becomes the plugin, after it said its pid and took an output of its own for errors.
BECOME = 'echo $$ >"$1"; exec 2>>"$2"; shift 2; exec "$@"'

D = TypeVar("D", bound=Driven)


@dataclass(frozen=True)
class Command:
    """What starts the plugin; `env`: what its agent's environment would have besides."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where plugins are started."""

    nodes: Nodes
    node: Node
    logs: Path  # a directory on this host
    name: str = field(default_factory=lambda: str(next(NUMBERS)))  # of its own files behind the lab's door

    @property
    def temporary(self) -> str:
        """The directory for temporary files, as plugins see it: sockets among them."""
        return f"{self.nodes.door}/{self.name}"


class OnBench:
    """A process of the plugin, that nobody has met yet."""

    def __init__(self, place: Place, command: Command, number: int) -> None:
        self._place = place
        self._out = place.logs / f"plugin-{number}.out"
        self._door = f"{place.name}-{number}"
        Path(place.nodes.sockets.to(self._door)).symlink_to(".")  # a way in of its own: see `here`
        env = {**AGENT, "TMPDIR": place.temporary, **command.env}
        argv = ["sh", "-c", BECOME, "sh", *self._at_door("pid", "err"), *command.argv]
        self.process: Running = place.node.start("the plugin", argv, env=env, log=self._out)
        self.pid = wait_until("the plugin is started", self._pid, timeout=KILLED_WITHIN, every=0.005)

    def stdout(self) -> str:
        """What it printed so far."""
        return self._out.read_text(errors="replace")

    def stderr(self) -> str:
        """What it logged so far."""
        return self._here("err").read_text(errors="replace") if self._here("err").exists() else ""

    def said(self) -> str:
        """Both."""
        return self.stdout() + self.stderr()

    def here(self, address: str) -> str:
        """Where a socket of the plugin's is on this host, by a path that no other process of it had."""
        place, own = self._place, self._door
        if address.startswith(f"{place.nodes.door}/"):
            name = str(PurePosixPath(address).relative_to(place.nodes.door))
            return place.nodes.sockets.to(f"{own}/{name}")
        port = address.rpartition(":")[2]
        if not address.startswith("/") and port.isdigit():
            return place.node.gate(int(port))
        self._relay(address)
        return place.nodes.sockets.to(f"{own}/{self._door}.sock")

    def outputs(self) -> tuple[str, ...]:
        """Device and number of the files that stand for the pipes an agent reads its outputs from."""
        seen = [path.stat() for path in (self._out, self._here("err"))]
        return tuple(f"{each.st_dev}:{each.st_ino}" for each in seen)

    def keep(self) -> None:
        """Keep what it logged beside what it printed."""
        self._out.with_suffix(".err").write_text(self.stderr())

    def kill(self) -> None:
        """SIGKILL, and return once it is gone."""
        self.process.signal(signal.SIGKILL)
        self.process.wait(KILLED_WITHIN)

    def _relay(self, address: str) -> None:
        """Have a socket behind the lab's door lead to one that is elsewhere on the node."""
        listen = f"UNIX-LISTEN:{self._at_door('sock')[0]},fork"
        argv = ["socat", listen, f"UNIX-CONNECT:{address}"]
        log = self._place.logs / "relay.log"
        self._place.node.start("a relay", argv, env={MARK: "1"}, log=log)
        wait_until("a relay listens", self._here("sock").exists, timeout=RELAY_WITHIN, every=0.01)

    def _pid(self) -> int:
        """Its pid as its node sees it; 0 when it has not said so yet."""
        said = self._here("pid").read_text().strip() if self._here("pid").exists() else ""
        return int(said or 0)

    def _at_door(self, *kinds: str) -> list[str]:
        return [f"{self._place.nodes.door}/{self._door}.{kind}" for kind in kinds]

    def _here(self, kind: str) -> Path:
        return Path(self._place.nodes.sockets.to(f"{self._door}.{kind}"))


class Instance(Generic[D]):
    """A process of the plugin that was met; what it tells by itself is listened to."""

    def __init__(self, started: OnBench, drive: Callable[[PluginProcess], D]) -> None:
        self.started = started
        self.plugin = PluginProcess(started)
        self.driven = drive(self.plugin)
        self.ask = cast(D, Asking(self.driven))
        self.streams: dict[str, Listening[Any]] = {}
        self.ended_by_itself: list[str] = []

    @property
    def lives(self) -> bool:
        """Whether its process runs."""
        return self.started.process.alive()

    def note(self) -> None:
        """Write down which of its streams have ended although it lives."""
        if self.lives and not self.ended_by_itself:
            over = [(name, stream) for name, stream in self.streams.items() if stream.over]
            self.ended_by_itself = [f"{name} ended: {stream.error or 'OK'}" for name, stream in over]

    def kill(self) -> None:
        """SIGKILL, and return once it is gone."""
        self.note()
        self.started.kill()
        self.plugin.channel.close()

    def shut_down(self) -> int:
        """Tell it to end as agents do, and kill it when it does not; return its exit code."""
        self.note()
        return self.plugin.shut_down()

    def signalled(self, number: int, within: float) -> int | None:
        """Send its process a signal; its exit code once it has ended, None when it has not by then."""
        self.note()
        self.started.process.signal(number)
        try:
            return self.started.process.wait(within)
        except TimedOut:
            return None
