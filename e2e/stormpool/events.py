"""What a history is made of: all that can happen in a run, an event a kind.

Each has `kind` and `t`, the nanoseconds since the run began, of one clock (CLOCK_MONOTONIC of the host that
ran the harness).
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

SECOND = 1_000_000_000  # in a history's unit of time
# Access modes, in Nomad's words, that let one allocation at most claim a volume to write to it.
ONE_WRITER = frozenset({"single-node-writer", "multi-node-single-writer"})

Fields = dict[str, str]


class Event(msgspec.Struct, frozen=True, gc=False, tag_field="kind", omit_defaults=True):
    """Anything a history holds."""

    t: int


class Phase(Event, frozen=True, gc=False, tag="phase"):
    """The run entered a phase: up, plugins, workload, settle, observe, done."""

    name: str


class Call(Event, frozen=True, gc=False, tag="call"):
    """A plugin was called. `t`: the tap read it from the caller; `sent`: it had written it to the plugin.

    One that was never written to the plugin, because a fault kept it, has no `sent`.
    """

    id: str  # of the RPC, unique in the run
    plugin: str
    node: str  # where the plugin runs
    method: str  # without its service: ControllerPublishVolume
    volume: str = ""  # by its name: where the plugin has another id for it, that is in `args` as volume_id
    target: str = ""  # the CSI node id a controller call is about
    args: Fields = {}  # the request's other fields; never a secret
    alloc: str = ""  # of the plugin
    peer: int = 0  # the caller's pid on its node
    sent: int = 0
    task: str = ""  # a driver's id of the task it is about: ALLOCATION/NAME/...


class Reply(Event, frozen=True, gc=False, tag="reply"):
    """A plugin answered. `t`: the tap read it from the plugin; `told`: it had written it to the caller.

    One that the caller never heard, because a fault kept it, has no `told`.
    """

    id: str
    code: str = "OK"  # a gRPC status by name
    message: str = ""
    result: Fields = {}
    told: int = 0
    by: str = "plugin"  # or "tap": the answer of a fault
    said: str = ""  # the status the plugin had answered with, where the tap then answered otherwise
    said_at: int = 0  # when the tap read that one


class Message(Event, frozen=True, gc=False, tag="message"):
    """A plugin said something in an answer that goes on: what it finds, statistics, events."""

    id: str  # of the RPC
    said: Fields = {}


class Gone(Event, frozen=True, gc=False, tag="gone"):
    """A call ended without an answer: its caller gave it up, or the plugin or the connection went away."""

    id: str
    by: str  # "caller", "plugin" or "tap"


class Fault(Event, frozen=True, gc=False, tag="fault"):
    """Something was broken on purpose, or mended: what it aimed at is what its description came to."""

    id: int  # of the planned fault
    name: str
    step: str  # planned, injected, healed, failed
    subject: str = ""  # what it hit: a node, a call
    rpc: str = ""  # the call that triggered it
    phase: str = ""  # of that call: before, during, after
    why: str = ""  # what went wrong, when it failed
    optional: bool = False  # it was planned so that it need not happen


class Leader(Event, frozen=True, gc=False, tag="leader"):
    """A server won an election, by its own word."""

    node: str
    term: int


class Member(Event, frozen=True, gc=False, tag="member"):
    """What the servers hold a client for."""

    node: str
    client_id: str
    status: str  # ready, down, disconnected, initializing
    eligible: bool = True


class PluginView(Event, frozen=True, gc=False, tag="plugin_view"):
    """Which controllers of a plugin the servers hold for healthy, by client id."""

    plugin: str
    controllers: dict[str, bool]


class DeviceView(Event, frozen=True, gc=False, tag="device_view"):
    """Which device instances of a client the servers hold for healthy: by vendor/type/name[id]."""

    node: str
    healthy: dict[str, bool]

    @property
    def any_healthy(self) -> bool:
        """Whether there is one that may be given to a task."""
        return any(self.healthy.values())


class Unwatched(Event, frozen=True, gc=False, tag="unwatched"):
    """From `since` to `t` no server answered: what they held for true may have changed, and is told late."""

    since: int


class Volume(Event, frozen=True, gc=False, tag="volume"):
    """A volume was made for the workload."""

    volume: str
    plugin: str
    access: str = "single-node-writer"

    @property
    def one_writer(self) -> bool:
        """Whether it was made for one writer, be there readers beside it or not."""
        return self.access in ONE_WRITER


class Operation(Event, frozen=True, gc=False, tag="operation"):
    """Something a workload did: `t` is when it began, `ended` when it was over."""

    name: str  # attach, detach, read
    subject: str  # the volume
    ended: int
    alloc: str = ""
    node: str = ""
    error: str = ""
    held: list[str] = []  # of a read: the allocations that hold a claim, by the servers' word


class Acknowledged(Event, frozen=True, gc=False, tag="acknowledged"):
    """How many writes a task told of by its output, each once it was synced."""

    alloc: str
    writes: int
    life: str = ""  # a task that is started again in its allocation counts from 1 again
    volume: str = ""  # empty in histories of before: that of the allocation's `attach`
    refused: int = 0  # how often it could not write

    @property
    def writer(self) -> str:
        """What its lines on the volume begin with."""
        return f"{self.alloc}/{self.life}" if self.life else self.alloc


class Contents(Event, frozen=True, gc=False, tag="contents"):
    """What was read back from a volume: for each writer how many of its writes, from its first on."""

    volume: str
    node: str
    writes: dict[str, int]


class Key(Event, frozen=True, gc=False, tag="key"):
    """Whether the key of an encrypted volume is loaded on a node (zfsprops(7), keystatus)."""

    volume: str
    node: str
    loaded: bool


class Process(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One process of a node, by the kernel's word."""

    pid: int  # as its node sees it
    started: int  # clock ticks since boot: with the pid, its identity
    name: str
    argv: str = ""
    parent: int = 0
    alloc: str = ""  # the allocation it belongs to, by its environment, command line or open files
    task: str = ""
    writes: list[str] = []  # sources of the ZFS file systems it alone has mounted writable

    @property
    def is_executor(self) -> bool:
        """Whether it looks after a task: a copy of its driver's program with this word for a command."""
        return bool(self.alloc) and not self.task and "executor" in self.argv.split()[1:5]

    @property
    def is_logmon(self) -> bool:
        """Whether it reads what a task prints: a copy of its agent's program with this word for a command."""
        return bool(self.alloc) and not self.task and self.argv.split()[1:2] == ["logmon"]


class Mount(msgspec.Struct, frozen=True, gc=False):
    """One ZFS file system mounted on a node, or whatever a plugin has mounted there for an agent."""

    source: str
    target: str
    writable: bool


class Observed(Event, frozen=True, gc=False, tag="observed"):
    """What a node's kernel and pools showed at `t`.

    While the workload runs only tasks with a ZFS file system of their own are told, when that changed and
    every second; what was told before still held at `since`.
    """

    node: str
    since: int = 0
    settled: bool = False
    processes: list[Process] = []
    mounts: list[Mount] = []
    pools: list[str] = []
    datasets: list[str] = []
    whole: bool = False  # all that runs and is mounted is told, and not tasks alone
    silent: bool = False  # ZFS did not say which pools and datasets there are


class TaskView(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One task, by the servers' word."""

    alloc: str
    name: str
    node: str
    state: str  # pending, running, dead
    driver: str = ""
    devices: list[str] = []  # the instances that it was given: vendor/type/name[id]
    asked: int = 0  # how many its job asks for
    wanted: list[str] = []  # ids its job names by a constraint; any where it names none


class Census(Event, frozen=True, gc=False, tag="census"):
    """What the servers said of every task just before the nodes were looked at, while tasks were to go on.

    What each node showed then is told after it, until the next of these.
    """

    tasks: list[TaskView]


class Ended(Event, frozen=True, gc=False, tag="ended"):
    """How the lives of a task ended: by the agent's word, and by what the task itself had said last."""

    alloc: str
    task: str
    node: str
    told: list[tuple[int, int]]  # exit code and signal, a life each, in their order
    said: list[int]  # the code a life said it would end with; -1 for one that never came to say it


class Down(Event, frozen=True, gc=False, tag="down"):
    """A node went down with all that ran, was staged and was mounted on it; its disk is as it was."""

    node: str


class Alloc(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One allocation, by the servers' word."""

    id: str
    job: str
    node: str
    desired: str  # run, stop, evict
    status: str  # pending, running, complete, failed, lost, unknown
    volumes: list[str] = []  # by its job, where it has started and is no plugin's
    devices: list[str] = []  # the instances that it was given: vendor/type/name[id]

    TERMINAL: ClassVar[frozenset[str]] = frozenset({"complete", "failed", "lost"})

    @property
    def live(self) -> bool:
        """Whether its tasks may still run."""
        return self.status not in self.TERMINAL

    @property
    def started(self) -> bool:
        """Whether it lives and is past waiting for its volumes."""
        return self.live and self.status != "pending"


class AllocView(Event, frozen=True, gc=False, tag="alloc_view"):
    """What the servers hold of an allocation, when that changed; where somebody asked to be told of each."""

    alloc: Alloc
    forgotten: bool = False  # they know it no more, as this was the last they said of it: it is over


class Design(Event, frozen=True, gc=False, tag="design"):
    """One way in which tasks of this run get a dataset: how its jobs and datasets are known."""

    name: str
    jobs: str  # what the names of its jobs begin with
    datasets: str  # what the names of its datasets begin with
    collects: bool = True  # whether they are to go once allocations are over; else they may stay by design
    volumes: bool = False  # whether each is a volume, there until its operator deletes it


class Datasets(Event, frozen=True, gc=False, tag="datasets"):
    """The ZFS file systems of a node, when that changed; what was told before still held at `since`."""

    node: str
    since: int
    made: dict[str, int]  # by name: when each was made, in seconds of the wall clock
    mounted: list[str]  # those that the node has mounted


class Life(Event, frozen=True, gc=False, tag="life"):
    """What one life of a task said by its output: told when that was read, the last time is the whole of it.

    A task that is started again in its allocation has another life.
    """

    alloc: str
    life: str
    number: int  # in the order of the allocation's, from 1
    dataset: str = ""  # the one it began in; none where it found none
    found: dict[str, int] = {}  # there when it began: ALLOCATION/LIFE → how many of its writes from its first
    wrote: int = 0  # writes that it told of, each once it was synced


class Tried(Event, frozen=True, gc=False, tag="tried"):
    """What a task that a submitter wrote came to on its node, when it tried."""

    alloc: str
    task: str
    uid: int  # of the task, as the node has it
    secrets: int  # lines of the node's /etc/shadow that it could read, which only root can


class Books(Event, frozen=True, gc=False, tag="books"):
    """What the servers say of claims and allocations, once all has settled or the bound for it is over."""

    claims: dict[str, list[str]]  # volume → allocations that hold a claim
    allocs: list[Alloc]
    exhausted: list[str] = []  # messages of placements refused because a volume's claims are exhausted
    settled_in: float = -1.0  # seconds; negative: not within the bound

    @property
    def live(self) -> set[str]:
        """The allocations whose tasks may still run."""
        return {alloc.id for alloc in self.allocs if alloc.live}

    @property
    def used(self) -> set[str]:
        """The volumes that one of these has, by its claim; or by its job, where it has started.

        One that is pending without a claim waits for its volumes, be it for ever, and has none of them.
        """
        live = self.live
        claimed = {volume for volume, allocs in self.claims.items() if live.intersection(allocs)}
        return claimed | {volume for alloc in self.allocs if alloc.started for volume in alloc.volumes}


AnyEvent = (
    Phase
    | Call
    | Reply
    | Message
    | Gone
    | Fault
    | Leader
    | Member
    | PluginView
    | DeviceView
    | Unwatched
    | Volume
    | Operation
    | Acknowledged
    | Contents
    | Key
    | Observed
    | Census
    | Ended
    | Down
    | AllocView
    | Design
    | Datasets
    | Life
    | Tried
    | Books
)
