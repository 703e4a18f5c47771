"""What a node is to everything above the providers: a place to run commands, start processes, keep files.

A provider (network namespaces, containers, virtual machines) brings nodes up and hands them out as these
protocols; nothing above may know which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stormpool.capability import Capability
from stormpool.lab import Lab, NodeSpec
from stormpool.ledger import Written
from stormpool.links import Pair, Shape
from stormpool.shell import Completed
from stormpool.sockets import ShortPaths

if TYPE_CHECKING:
    from stormpool.companions import Companions


class Process(Protocol):
    """A long-lived process the harness started on a node."""

    name: str
    pid: int  # as this host sees it

    def alive(self) -> bool:
        """Whether it still runs."""

    def code(self) -> int | None:
        """Its exit code once it has ended (negative: the signal that ended it), else None."""

    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended."""

    def wait(self, timeout: float) -> int:
        """Wait until it ends, `timeout` seconds at most (`TimedOut`), and return its exit code."""


class Stream(Protocol):
    """A command that tells a line at a time."""

    def stop(self) -> int:
        """Close its standard input, and return its exit code when it has told its last line.

        What does not end in time is killed: below 0, as what a signal has ended.
        """


class Zfs(Protocol):
    """What serves ZFS on a node, its kernel or a daemon; what makes pools ill or slow asks it to."""

    in_kernel: bool  # then who asks for ZFS opens a device, and libzfs_core can be asked

    def serve(self, log: Path) -> None:
        """Have it served, from now on or again; `log` takes what a daemon says."""

    def refuse_writes(self, pool: str) -> None:
        """Have every write to a pool's disks fail; a daemon's to those of every pool."""

    def take_writes(self, pool: str) -> None:
        """Undo `refuse_writes`; nothing happens where nothing was refused."""

    def slow(self, stopped: float, running: float, companions: Companions) -> None:
        """Have all pools be slow (see `stormpool.faults.SlowPools`)."""

    def quicken(self, companions: Companions) -> None:
        """Undo `slow`; nothing happens where nothing was slow."""


class Node(Protocol):
    """One machine of a lab."""

    spec: NodeSpec
    address: str  # its IPv4 address in the lab's own network
    disk: str  # a directory on the node that outlives its crash
    zfs: Zfs  # what serves its pools

    @property
    def up(self) -> bool:
        """Whether it runs: it does not between a crash and the next boot, and can be asked nothing then."""

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout: float = 60.0, check: bool = True
    ) -> Completed:
        """Run a command on the node to its end (see `stormpool.shell.run`).

        What does not end in time may go on, on a machine: only what leads there is killed.
        """

    def start(self, name: str, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> Process:
        """Start a long-lived process; both its outputs are appended to `log` on this host."""

    def stream(self, argv: Sequence[str], on_line: Callable[[str], None]) -> Stream:
        """Run a command that tells a line at a time, until its standard input closes."""

    def write(self, path: str, text: str) -> None:
        """Write a file on the node, with the directories above it."""

    def read(self, path: str) -> str:
        """Read a text file of the node."""

    def vdev(self, name: str) -> str:
        """A disk for a pool: a file that may not be there yet, or a device of the node's."""

    def put(self, path: Path) -> None:
        """Have a program of this host at its own path on the node."""

    def here(self, at: int) -> int:
        """A time of the node's CLOCK_MONOTONIC, in nanoseconds, as this host's clock shows it."""

    def gate(self, port: int) -> str:
        """Path on this host of a unix socket that leads to a TCP port on the node's loopback."""


class Links(Protocol):
    """The network between the nodes of a lab, and what is wrong with it.

    Whoever asks for something says who he is, and undoes what he asked for; what others asked stands. None of
    it comes between this host and a node.
    """

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong with it."""

    def drop(self, pairs: Iterable[Pair], by: Hashable) -> None:
        """Drop every packet from one node to another, without a word to either; nodes are named."""

    def shape(self, node: str, shape: Shape, by: Hashable) -> None:
        """Shape a node's link, both ways; the latest who asked has it."""

    def restore(self, by: Hashable | None = None) -> None:
        """Undo what was asked by somebody, or by everybody; nothing happens where nothing was."""


class Nodes(Protocol):
    """The nodes of a lab that is up, and the way to end it."""

    python: str  # an interpreter, at this path on every node, that can import stormpool
    door: str  # directory on every node where sockets of `sockets` are, see `lead_in`
    cloud: str  # directory that all nodes share; a URL where they share none
    pace: float  # how many times as long as in namespaces everything takes (`stormpool.pace`)
    has_cgroups: bool  # whether agents can make cgroups, which Nomad's exec driver needs

    @property
    def sockets(self) -> ShortPaths:
        """Short paths to what is behind the door, on this host."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to them here."""

    @property
    def links(self) -> Links:
        """The network between them."""

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Every node, by name."""

    def lead_in(self, name: str) -> None:
        """Have a socket of that name in `sockets` be at `door` on every node."""

    def crash(self, name: str, *, panic: bool = False) -> None:
        """Cut a node's power: everything in it ends at once, unheard; its disk stays. Idempotent.

        `panic`: its kernel panics first; needs `Capability.PANIC`.
        """

    def boot(self, name: str) -> None:
        """Start a node that has crashed, on the same disk and address. Idempotent."""

    def copy(self) -> None:
        """Keep all nodes as they are at one moment, for `revert`; needs `Capability.COPY`.

        Streams and sockets of this process are cut off, processes that it started are not.
        """

    def revert(self) -> None:
        """Have all nodes as they were at the time of `copy`, with their wall clocks as they are now."""

    def down(self) -> None:
        """End every process and undo everything the lab made; idempotent."""

    def keep(self, nomad: str, addresses: Mapping[str, str]) -> Written:
        """Write down how to get at the nodes, for other processes to find."""

    def left_behind(self) -> list[str]:
        """What this host still shows of the lab, found by looking at the host."""


@dataclass(frozen=True)
class Bringing:
    """What a provider is told beside the lab it is to bring up."""

    lab_id: str
    run_dir: Path
    programs: tuple[Path, ...] = ()  # files of this host that are to be on every node, at their own paths
    told: Callable[[str], None] = lambda _: None  # hears what takes long


class Provider(Protocol):
    """Brings the nodes of a lab up."""

    name: str

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to nodes of its, on this host."""

    def missing(self) -> list[str]:
        """What this host lacks to run a lab, each with the command that mends it."""

    def takes(self, lab: Lab) -> int:
        """The memory that a lab takes, in MiB."""

    def up(self, lab: Lab, bringing: Bringing) -> Nodes:
        """Bring all nodes of `lab` up, or leave nothing and raise."""
