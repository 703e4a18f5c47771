"""A lab without agents: nodes with pools, and on each the task drivers that are asked for, behind taps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from stormpool import settling
from stormpool.alone.keeper import Keeper
from stormpool.errors import Misuse
from stormpool.events import Alloc, Books, TaskView
from stormpool.goplugin.on_node import OnNode
from stormpool.judge import RunHistory
from stormpool.lab import ExternalPlugin, Lab, PluginKind
from stormpool.nemesis import Plan
from stormpool.node import Nodes
from stormpool.script import Act
from stormpool.site import Site, Turn, apart
from stormpool.store import Recorder
from stormpool.workloads.workload import Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

SETTLE_TIMEOUT = 10.0  # seconds after the workload until nothing of it may be left


class Alone(Site):
    """A lab that is up, with plugins and no agents. What tasks there are, it knows by itself."""

    reusable = False  # it is up in half a second

    def __init__(self, lab: Lab, nodes: Nodes, recorder: Recorder, turn: Turn) -> None:
        super().__init__(lab, nodes, recorder, turn)
        self.tasks: dict[str, TaskView] = {}  # by allocation: each has one
        self._keepers: dict[tuple[str, str], Keeper] = {}

    @property
    def cluster(self) -> Cluster:
        """There is none."""
        raise Misuse("this is about agents, and none run here", fix="ask for a lab with servers")

    def start(self) -> None:
        """Start the pools; a plugin is started once it is asked for something."""
        self._listen_to_taps()
        self._start_pools()

    def stop(self) -> None:
        """End the plugins, and hear the taps no more."""
        for keeper in self._keepers.values():
            keeper.shut_down()
        if self._collector is not None:
            self._collector.close()

    def retell(self) -> None:
        """Nothing: nobody but the run itself holds anything for true."""

    def run(self, *acting: Workload | Plan, settle: float = SETTLE_TIMEOUT) -> RunHistory:
        """Run workloads and plans of faults at once, heal, let all settle, observe every node.

        Returns what happened. `settle`: seconds from the workloads' end until nothing of them may be left.
        """
        return self._run(*apart(acting), settle)

    def keeper(self, plugin: str = "", node: str = "client1") -> Keeper:
        """What keeps a driver on a node: the first of the lab where none is named."""
        drivers = [each for each in self.lab.external_plugins if each.kind == PluginKind.DRIVER]
        found = next((each for each in drivers if plugin in ("", each.id)), None)
        if found is None:
            raise Misuse(f"the lab has no driver {plugin}", fix="name it among the lab's plugins")
        key = found.id, node
        if key not in self._keepers:
            self._keepers[key] = Keeper(lambda: self._launch(found, node), dict(found.config))
        return self._keepers[key]

    def allocs_of(self, job: str) -> list[Alloc]:
        """The allocations of a job: one, of its task."""
        return [_alloc(task) for task in self.tasks.values() if task.name == job]

    def _launch(self, plugin: ExternalPlugin, node: str) -> OnNode:
        """Start a plugin as an agent would: by the script that stands in its place."""
        path = f"{self.lab.data_dir}/plugins/{plugin.id}"
        self.install(plugin, node)
        return OnNode(self._nodes, node, [path], log=self.logs / f"{node}-{plugin.id}.log")

    def _settle(self, act: Act) -> None:
        within = time.monotonic() + act.settle
        self.recorder.phase("observe")
        self._observing.stop()
        books = Books(self.recorder.now(), {}, [_alloc(task) for task in self.tasks.values()], settled_in=0.0)
        self.recorder.write(books)
        settling.observe(self, books, (), within)


def _alloc(task: TaskView) -> Alloc:
    """A task as the allocation that it is the only one of."""
    status = task.state if task.state in ("pending", "running") else "complete"
    return Alloc(task.alloc, task.name, task.node, "run", status)
