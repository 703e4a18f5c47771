"""One node: nested namespaces, entered for every command."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormpool import processes, shell
from stormpool.errors import CommandFailed, MachineError
from stormpool.lab import NodeSpec
from stormpool.node import Zfs
from stormpool.providers.addresses import address_of
from stormpool.providers.netns.enter import Argv, enter, join
from stormpool.providers.netns.process import NamespaceProcess
from stormpool.providers.stream import PipedStream
from stormpool.shell import Completed
from stormpool.wait import wait_until
from stormpool.zfs.daemon import DaemonZfs

if TYPE_CHECKING:
    from stormpool.providers.netns.nodes import NamespaceNodes

GATE_TIMEOUT = 30.0  # seconds until a gate listens; 0.1 on an idle machine
ENDED_WITHIN = 30.0  # seconds that a node may take to end; 0.1 on an idle machine
BACKLOG = 128  # connections a gate lets wait; socat's own 5 are refused under load


class NamespaceNode:
    """One node: nested namespaces, entered for every command."""

    def __init__(self, spec: NodeSpec, nest: NamespaceNodes, cgroup_dirs: Sequence[str]) -> None:
        self.spec = spec
        self.address = address_of(spec)
        self.disk = "/lab/disk"
        self.zfs: Zfs = DaemonZfs(self)
        self._init: int | None = None
        self._nest = nest
        self._cgroups = tuple(cgroup_dirs)
        self._gates: set[int] = set()
        self._entered: list[subprocess.Popen[bytes]] = []  # children of this process that are in the node

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return self._init is not None

    @property
    def init(self) -> int:
        """Its init, as this host sees it. Raises `MachineError` when it is down: its pid may be another's."""
        if self._init is None:
            raise MachineError(f"node {self.spec.name} has crashed and was not booted")
        return self._init

    def power_on(self, unshared: subprocess.Popen[bytes], init: int) -> None:
        """It is up, under this init; what led to its ports leads there again."""
        self._entered.append(unshared)
        self._init = init
        for port in self._gates:
            self._open_gate(port)

    def power_off(self) -> None:
        """End everything in it at once, and return when all is gone."""
        keep = f"cat /proc/sys/kernel/ns_last_pid >{self.disk}/last-pid"  # for `node_init.go_on_counting`
        with contextlib.suppress(MachineError):  # a node too ill to say goes without
            self.run(["sh", "-c", keep], timeout=5)
        init, self._init = self.init, None
        processes.signal(init, signal.SIGKILL)
        for child in self._entered:
            if child.poll() is None:
                processes.signal(child.pid, signal.SIGCONT)  # nsenter stops itself along with its child
            child.wait(ENDED_WITHIN)
        self._entered.clear()
        for port in self._gates:
            (self._nest.door_here / self._gate(port)).unlink(missing_ok=True)

    def run(
        self, argv: Argv, *, input: str | None = None, timeout: float = 60.0, check: bool = True
    ) -> Completed:
        """Run a command on the node to its end."""
        entered = [*enter(self.init), *argv]
        done = shell.run(entered, where=self.spec.name, input=input, timeout=timeout, check=False)
        if check and done.code != 0:
            raise CommandFailed(self.spec.name, argv, done.code, done.stdout, done.stderr)
        return done

    def start(self, name: str, argv: Argv, *, env: Mapping[str, str], log: Path) -> NamespaceProcess:
        """Start a long-lived process in the node, in the node's cgroups."""
        with log.open("ab") as output:
            entered = self._spawn(
                [*enter(self.init), *join(_own_view(self._cgroups)), *argv],
                env=_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return NamespaceProcess(name, entered)

    def stream(self, argv: Argv, on_line: Callable[[str], None]) -> PipedStream:
        """Run a command that tells a line at a time."""
        entered = self._spawn(
            [*enter(self.init), *argv],
            env=_environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return PipedStream(entered, on_line, self._forget)

    def write(self, path: str, text: str) -> None:
        """Write a file on the node, with the directories above it."""
        here = self._here(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(text)

    def read(self, path: str) -> str:
        """Read a text file of the node."""
        return self._here(path).read_text(errors="replace")

    def vdev(self, name: str) -> str:
        """A file on the node's disk."""
        return f"{self.disk}/vdevs/{name}.img"

    def put(self, path: Path) -> None:
        """Nothing to do: a node sees the host's files."""

    def here(self, at: int) -> int:
        """The same: namespaces share the clock."""
        return at

    def gate(self, port: int) -> str:
        """Path on this host of a unix socket that leads to a TCP port on the node's loopback.

        The relay listens inside the node, so no partition of the lab's network comes between.
        """
        if port not in self._gates:
            self._open_gate(port)
            self._gates.add(port)
        here = self._nest.door_here / self._gate(port)
        wait_until(f"gate {here.name} listens", here.exists, timeout=GATE_TIMEOUT, every=0.01)
        return self._nest.sockets.to(here.name)

    def _open_gate(self, port: int) -> None:
        listen = f"UNIX-LISTEN:{self._nest.door}/{self._gate(port)},fork,unlink-early,backlog={BACKLOG}"
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._spawn([*enter(self.init), "socat", listen, f"TCP:127.0.0.1:{port}"], **nothing)

    def _gate(self, port: int) -> str:
        return f"{self.spec.name}-{port}.sock"

    def _spawn(self, argv: Argv, **how: Any) -> subprocess.Popen[bytes]:
        child = self._nest.spawn(argv, **how)
        self._entered.append(child)
        return child

    def _forget(self, child: subprocess.Popen[bytes]) -> None:
        """A child has ended, and was reaped; after a crash it was forgotten already."""
        if child in self._entered:
            self._entered.remove(child)
        self._nest.forget(child)

    def _here(self, path: str) -> Path:
        return Path(f"/proc/{self.init}/root{path}")


def _own_view(dirs: Sequence[str]) -> list[str]:
    """Where a node sees its own cgroups: at the root of every hierarchy."""
    return [directory.rpartition("/stormpool/")[0] for directory in dirs]


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8", "TMPDIR": "/run/tmp", **extra}
