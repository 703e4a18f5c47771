"""A lab that is used for one run after another: made as good as new between two, or found to be spent.

A lab is as good as new when nothing of the last run is left in the servers' books, every agent runs and every
plugin is healthy, and each node shows what it showed when the lab had just come up.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

from msgspec import structs

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of, of_plugin
from stormpool.cluster import Cluster
from stormpool.errors import MachineError, TimedOut
from stormpool.events import Call, Observed, Reply
from stormpool.history import History
from stormpool.plugins import csi, external
from stormpool.site import Turn
from stormpool.wait import wait_until

CLEAN_WITHIN = 10.0  # seconds until a lab that was used must be clean; the agents' part of it takes under 1
LOOK_EVERY = 0.05  # seconds between two looks


class Spent(MachineError):
    """A lab is not as good as new, and cannot be made so; says what is left."""


class Reuse:
    """One lab, turn after turn."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        cluster.hear_out()
        came_up = cluster.turn.directory.read_history()
        self._came_up_in = cluster.recorder.now()
        self._told = _self_descriptions(came_up)
        self._new = {node.spec.name: _shown(cluster.look(node.spec.name)) for node in cluster.clients()}
        if cluster.can_be_copied:
            cluster.copy()
        self._read: dict[str, int] = {}  # how long each log was when the turn began

    def begin(self, turn: Turn) -> None:
        """From now on what happens belongs to another run."""
        cluster = self.cluster
        self._read = {path.name: path.stat().st_size for path in cluster.logs.glob("*.log")}
        cluster.turn, cluster.acts, cluster.volumes, cluster.failed = turn, [], {}, None
        cluster.recorder.turn_to(turn.directory.history)
        for event in self._told:
            cluster.recorder.write(_earlier(event, self._came_up_in))
        cluster.retell()

    def end(self) -> None:
        """The run is over: it gets its part of the lab's logs."""
        for path in self.cluster.logs.glob("*.log"):
            with path.open("rb") as log:
                log.seek(self._read.get(path.name, 0))
                (self.cluster.turn.directory.logs / path.name).write_bytes(log.read())

    def reset(self) -> None:
        """Make the lab as good as new. Raises `Spent` when that cannot be had."""
        cluster = self.cluster
        if not cluster.reusable:
            raise Spent("a lab without agents is up sooner than it is as good as new")
        if cluster.can_be_copied:
            self._revert()
            return
        if changed := cluster.agents.changed:
            raise Spent(f"the lab cannot be used again: other agents run on {', '.join(sorted(changed))}")
        try:
            self._empty_books()
            cluster.agents.must_live()
            with ThreadPoolExecutor(len(self._new), thread_name_prefix="audit") as threads:
                list(threads.map(self._audit, self._new))
        except (TimedOut, ApiError, Unreachable, MachineError) as error:
            raise Spent(f"the lab cannot be used again: {error}") from error

    def _revert(self) -> None:
        try:
            self.cluster.revert()
        except (TimedOut, ApiError, Unreachable, MachineError) as error:
            raise Spent(f"the lab cannot be set back: {error}") from error

    def _empty_books(self) -> None:
        """Take all but the plugins' own off the servers' books."""
        cluster, api = self.cluster, self.cluster.api()
        for stub in api.get("jobs"):
            if not of_plugin(stub["ID"]):
                api.delete(f"job/{stub['ID']}", purge="true")
        for name, plugin in cluster.volumes.items():
            with contextlib.suppress(ApiError):  # one that is gone already; what cannot go is found below
                api.delete(f"volume/csi/{name}/delete", plugin_id=plugin)
        wait_until(
            "the books are clean", self._left, lambda left: not left, timeout=CLEAN_WITHIN, every=LOOK_EVERY
        )

    def _left(self) -> list[str]:
        """What the servers still say that a new lab's would not."""
        api = self.cluster.api()
        api.put("system/gc")
        left = [f"volume {stub['ID']}" for stub in api.get("volumes", type="csi")]
        left += [
            f"allocation {alloc.id[:8]} of {alloc.job}, {alloc.status}"
            for alloc in map(alloc_of, api.get("allocations"))
            if not of_plugin(alloc.job) or not alloc.live
        ]
        left += [
            f"node {node['Name']} is {node['Status']}, {node['SchedulingEligibility']}"
            for node in api.get("nodes")
            if node["Status"] != "ready" or node["SchedulingEligibility"] != "eligible"
        ]
        lab = self.cluster.lab
        left += [f"plugin {each.id}" for each in lab.csi_plugins if not csi.is_healthy(each, lab, api)]
        sick = (each for each in lab.external_plugins if not external.is_healthy(each, lab, api))
        return left + [f"plugin {each.id}" for each in sick]

    def _audit(self, name: str) -> None:
        """Wait until a node shows what it did when the lab was new."""
        wait_until(
            f"{name} is clean",
            lambda: self._differs(name),
            lambda left: not left,
            timeout=CLEAN_WITHIN,
            every=LOOK_EVERY,
        )

    def _differs(self, name: str) -> list[str]:
        now, new = _shown(self.cluster.look(name)), self._new[name]
        return [f"+ {each}" for each in sorted(now - new)] + [f"- {each}" for each in sorted(new - now)]


def _shown(seen: Observed) -> set[str]:
    """What a node shows, but for what differs each time: pids."""
    return {
        *(f"mount {mount.source} at {mount.target}" for mount in seen.mounts),
        *(f"pool {name}" for name in seen.pools),
        *(f"dataset {name}" for name in seen.datasets),
        *(f"process {each.name} {each.task} of {each.alloc[:8]}" for each in seen.processes if each.alloc),
    }


def _self_descriptions(history: History) -> list[Call | Reply]:
    """The calls in which plugins told of themselves, with their answers."""
    found: list[Call | Reply] = []
    for rpc in history.rpcs(csi.SELF_DESCRIPTIONS):
        if isinstance(rpc.end, Reply):
            found += [rpc.call, rpc.end]
    return found


def _earlier(event: Call | Reply, by: int) -> Call | Reply:
    """An event of before the run, at its true time: a negative one."""
    if isinstance(event, Call):
        return structs.replace(event, t=event.t - by, sent=event.sent - by)
    return structs.replace(event, t=event.t - by, told=event.told - by)
