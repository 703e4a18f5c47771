"""What every lab that is up has, be there agents on it or plugins alone: nodes with pools, taps that are
heard, acts that are carried out while faults happen, and a history."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec
from google.protobuf.descriptor import FileDescriptor
from grpc_health.v1 import health_pb2

from stormpool import pools, stubs
from stormpool.capability import Capability
from stormpool.companions import Companions
from stormpool.conductor import Conductor
from stormpool.errors import Unavailable
from stormpool.events import Alloc, Observed
from stormpool.history import History
from stormpool.judge import RunHistory
from stormpool.lab import ExternalPlugin, Lab, Role
from stormpool.nemesis import Plan
from stormpool.node import Links, Node, Nodes
from stormpool.observe.observing import Observing
from stormpool.pace import slowed
from stormpool.plugins import external
from stormpool.script import Act, Script
from stormpool.store import Recorder, RunDirectory
from stormpool.tap.collector import SOCKET, Collector
from stormpool.tap.messages import Protocol
from stormpool.workloads.workload import Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

HEALTH = cast(FileDescriptor, health_pb2.DESCRIPTOR)  # of gRPC's own health service, which go-plugin asks


class Turn(msgspec.Struct, frozen=True):
    """One run on a lab: where it is written, its seed, and what replaces what its scenario does."""

    directory: RunDirectory
    seed: int
    script: Script | None = None


class Site(ABC):
    """A lab that is up."""

    reusable: ClassVar[bool] = True  # whether it pays to make it as good as new after a run

    def __init__(self, lab: Lab, nodes: Nodes, recorder: Recorder, turn: Turn) -> None:
        self.lab = lab
        self.nodes: Mapping[str, Node] = nodes.nodes
        self.recorder = recorder
        self.turn = turn
        self.acts: list[Act] = []  # what was done in this turn
        self.failed: BaseException | None = None  # what the scenario itself ended with
        self.volumes: dict[str, str] = {}  # made in this turn, each with its plugin
        self.logs = turn.directory.logs
        self.companions = Companions(nodes.python)
        self._nodes = nodes
        self._observing = Observing(nodes.python, recorder)
        self._collector: Collector | None = None

    @property
    def seed(self) -> int:
        """The seed of what is left to chance."""
        return self.turn.seed

    @property
    @abstractmethod
    def cluster(self) -> Cluster:
        """The lab as one with agents. Raises `Misuse` where none run."""

    @abstractmethod
    def allocs_of(self, job: str) -> list[Alloc]:
        """The allocations of a job."""

    @abstractmethod
    def start(self) -> None:
        """Start all that the lab is to have; return when it is healthy."""

    @abstractmethod
    def stop(self) -> None:
        """Keep what is worth it, stop watching and close every connection; the nodes stay up."""

    @abstractmethod
    def _settle(self, act: Act) -> None:
        """Wait until nothing of an act's workloads is left, and write down what is seen then."""

    def _run(self, workloads: tuple[Workload, ...], plan: Plan, settle: float) -> RunHistory:
        """Carry out workloads and faults at once, heal, let all settle; return what happened."""
        act = self._scripted(Act(workloads, plan, settle))
        self.acts.append(act)
        act = slowed(act, self._nodes.pace)
        self._prepare(act.plan)
        self._observing.watch(self.clients())
        self._carry_out(act)
        self.recorder.phase("settle")
        self._settle(act)
        self._observing.stop_datasets()
        self.hear_out()
        self.recorder.phase("judge")
        return RunHistory(self.turn.directory.read_history().events, self.turn.directory)

    @abstractmethod
    def retell(self) -> None:
        """Write what is held for true into a history that has just begun."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to the lab: to its nodes, and to what runs on them."""
        agents = {Capability.AGENTS} if self.lab.servers else set()
        return self._nodes.capabilities | agents

    def hear_out(self) -> None:
        """Return when all that the taps have told is in the history."""
        if self._collector is not None:
            self._collector.hear_out()

    @property
    def can_be_copied(self) -> bool:
        """Whether the lab can be kept as it is now, and set back to that."""
        return Capability.COPY in self.capabilities

    def copy(self) -> None:
        """Keep the lab as it is now, for `revert`."""
        if self._collector is not None:
            self._collector.part(self._nodes.pace)
        self._nodes.copy()
        self._rejoined()

    def revert(self) -> None:
        """Have the lab as it was at the time of `copy`."""
        self._nodes.revert()
        self._rejoined()

    def _rejoined(self) -> None:
        if self._collector is not None:
            self._collector.wait_rejoined()

    def so_far(self) -> tuple[History, int]:
        """What has happened by now, and when now is."""
        self.hear_out()
        return self.turn.directory.read_history(), self.recorder.now()

    def look(self, name: str) -> Observed:
        """What a node's kernel and pools show now."""
        return self._observing.look(self.nodes[name])

    @property
    def links(self) -> Links:
        """The network between the nodes."""
        return self._nodes.links

    def clients(self) -> list[Node]:
        """The nodes that run plugins and tasks."""
        return [self.nodes[name] for name in self.lab.names(Role.CLIENT)]

    def install(self, plugin: ExternalPlugin, name: str) -> None:
        """Put a plugin where a node's agent finds it the next time."""
        external.install(plugin, self.lab, self.nodes[name], self._nodes)

    def crash(self, name: str, *, panic: bool = False) -> None:
        """Cut a node's power; that nothing ran on it then is written down, for its observer ends with it.

        `panic`: its kernel panics first.
        """
        self._nodes.crash(name, panic=panic)
        self._observing.lost(name)

    def _start_pools(self) -> None:
        clients = self.clients()
        with ThreadPoolExecutor(max(1, len(clients)), thread_name_prefix="pool") as threads:
            list(threads.map(self._start_pool, clients))

    def _start_pool(self, node: Node) -> None:
        pools.start(node, self.lab.pool_mib, self.logs / f"{node.spec.name}-zfs.log")

    def _here(self, node: str, at: int) -> int:
        """A time that a node's tap tells, as this host's clock shows it."""
        return self.nodes[node].here(at) if node in self.nodes else at

    def _listen_to_taps(self) -> None:
        at = self._nodes.sockets.to(SOCKET)
        files = stubs.services("csi", "nomad", "goplugin")
        self._collector = Collector(at, Protocol([*files, HEALTH]), self.recorder, self._here)
        self._nodes.lead_in(SOCKET)

    def _scripted(self, act: Act) -> Act:
        """What the script of this turn has in the place of what the scenario does."""
        script, number = self.turn.script, len(self.acts)
        return script.acts[number] if script and number < len(script.acts) else act

    def _prepare(self, plan: Plan) -> None:
        """Have all that the faults take.

        Raises `Unavailable` for one that this lab cannot have, `Misuse` for one that is planned where it does
        nothing.
        """
        for planned in plan.planned:
            for need in sorted(planned.fault.needs - self.capabilities):
                raise Unavailable(f"{type(planned.fault).__name__} needs a lab in which one can {need}")
            planned.fault.check(planned.when)
            planned.fault.prepare()

    def _carry_out(self, act: Act) -> None:
        """Run workloads while a plan of faults is carried out; when they are over, heal what it broke."""
        before = sum(len(earlier.plan.planned) for earlier in self.acts[:-1])
        conductor = Conductor(act.plan, self, self._collector, before)
        self.recorder.phase("workload")
        conductor.start()
        try:
            with ThreadPoolExecutor(max(1, len(act.workloads)), thread_name_prefix="workload") as pool:
                going_on = [pool.submit(workload.act, self, self.seed) for workload in act.workloads]
        finally:
            self.recorder.phase("heal")
            conductor.heal()
        for done in going_on:
            done.result()


def apart(acting: tuple[Any, ...]) -> tuple[tuple[Workload, ...], Plan]:
    """Workloads and plans, which a scenario gives in any order."""
    workloads = tuple(each for each in acting if not isinstance(each, Plan))
    return workloads, sum((each for each in acting if isinstance(each, Plan)), Plan())
