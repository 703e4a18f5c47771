"""One machine of a lab."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stormpool.errors import MachineError
from stormpool.lab import NodeSpec
from stormpool.node import Zfs
from stormpool.pools import POOL
from stormpool.providers.addresses import address_of
from stormpool.providers.stream import PipedStream
from stormpool.providers.vagrant import clock
from stormpool.providers.vagrant.process import VagrantProcess, environment
from stormpool.providers.vagrant.way import Way
from stormpool.shell import Completed, bounded
from stormpool.zfs.kernel import KernelZfs

if TYPE_CHECKING:
    from stormpool.providers.vagrant.nodes import VagrantNodes

DISKS = ("disk1", "disk2")  # a machine has, for its pools
BY_NAME = "/dev/mapper"
COPY_TIMEOUT = 120.0  # seconds that a program may take to be copied; 4 for an agent
READ_TIMEOUT = 60.0  # seconds that a file may take to be copied


Standing = list[tuple[VagrantProcess, int]]  # what ran on a node, and how many bytes of it were taken down


class VagrantNode:
    """One machine, reached over ssh."""

    def __init__(self, spec: NodeSpec, nodes: VagrantNodes, way: Way) -> None:
        self.spec = spec
        self.address = address_of(spec)
        self.disk = "/lab/disk"
        self.zfs: Zfs = KernelZfs(self)
        self.up = True
        self.way = way
        self.processes: list[VagrantProcess] = []
        self._nodes = nodes
        self._numbers = itertools.count(1)
        self._gates: dict[int, Path] = {}
        self._disks = {POOL: 0}
        self._ahead = 0  # nanoseconds that its monotonic clock is ahead of this host's

    def next_number(self) -> int:
        """A number that no process had here."""
        return next(self._numbers)

    def open(self) -> None:
        """Connect, compare clocks, and set its wall clock right."""
        self.way.open()
        self._ahead = clock.ahead(self.way)
        clock.set_right(self.way, self._ahead)
        self.up = True

    def close(self) -> None:
        """It has lost its power: nothing is heard of it any more."""
        self.up = False
        self.way.close()
        for process in self.processes:
            process.lost()
        self.processes.clear()
        for path in self._gates.values():
            path.unlink(missing_ok=True)

    def part(self) -> Standing:
        """Let go of it while it runs on; what `join` needs to take hold of it again, or of a copy."""
        standing = [(process, process.let_go()) for process in self.processes if process.alive()]
        self.way.close()
        return standing

    def join(self, standing: Standing) -> None:
        """Take hold of it as it was when it was let go."""
        self.open()
        self.processes = [process for process, _ in standing]
        for process, heard in standing:
            process.follow(heard)

    def here(self, at: int) -> int:
        """A time of its CLOCK_MONOTONIC, in nanoseconds, as this host's clock shows it."""
        return at - self._ahead

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout: float = 60.0, check: bool = True
    ) -> Completed:
        """Run a command to its end."""
        return self.way.run(argv, input=input, timeout=timeout, check=check)

    def start(self, name: str, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> VagrantProcess:
        """Start a long-lived process."""
        process = VagrantProcess(name, self, [*environment(env), *argv], log)
        self.processes.append(process)
        return process

    def stream(self, argv: Sequence[str], on_line: Callable[[str], None]) -> PipedStream:
        """Run a command that tells a line at a time."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return PipedStream(self.way.spawn(argv, **pipes), on_line, lambda _: None)

    def write(self, path: str, text: str) -> None:
        """Write a file, with the directories above it."""
        self.run(["sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh", path], input=text)

    def read(self, path: str) -> str:
        """Read a text file. Raises `FileNotFoundError` where there is none."""
        done = self.run(["cat", path], timeout=READ_TIMEOUT, check=False)
        if done.code != 0:
            raise FileNotFoundError(f"{self.spec.name}: {done.stderr.strip()}")
        return done.stdout

    def vdev(self, name: str) -> str:
        """One of the machine's own disks: its pool's is the first, then in the order they are asked for."""
        if name not in self._disks and len(self._disks) == len(DISKS):
            raise MachineError(f"{self.spec.name} has {len(DISKS)} disks, and none left for {name}")
        return f"{BY_NAME}/{DISKS[self._disks.setdefault(name, len(self._disks))]}"

    def put(self, path: Path) -> None:
        """Copy a program that is not there; one that is is taken for the same."""
        if self.run(["test", "-x", str(path)], check=False).code == 0:
            return
        copy = ["sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1.new" && chmod +x "$1.new" && mv "$1.new" "$1"']
        with (
            path.open("rb") as program,
            self.way.spawn([*copy, "sh", str(path)], stdin=program) as copying,
            bounded(copying, COPY_TIMEOUT),
        ):
            if copying.wait() != 0:
                raise MachineError(f"{path} cannot be copied to {self.spec.name}")

    def gate(self, port: int) -> str:
        """Path on this host of a unix socket that leads to a TCP port on the machine's loopback.

        It goes over the way in, which no partition of the lab's network touches.
        """
        if port not in self._gates:
            path = self._nodes.door_here / f"{self.spec.name}-{port}.sock"
            self.way.lead_out(str(path), port)
            self._gates[port] = path
        return self._nodes.sockets.to(self._gates[port].name)
