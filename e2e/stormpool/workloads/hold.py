"""Volumes that are used for a while, by tasks that are to go on whatever happens."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from stormpool.agents.api import ApiError, Unreachable
from stormpool.errors import MachineError, TimedOut
from stormpool.events import Operation
from stormpool.pace import Seconds
from stormpool.wait import wait_until
from stormpool.workloads.attaching import attach, detach
from stormpool.workloads.consumer import How
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

LASTS = How(lasting=True)
BACK_FOR = 1.0  # seconds that consumers go on once every client is back


class Hold(Workload, frozen=True):
    """For every volume at once: a task writes to it for so many seconds, and runs at the end of them."""

    volumes: tuple[str, ...]
    seconds: Seconds  # that the task is to go on
    timeout: Seconds  # seconds that attaching, running again and detaching may take, each
    node: str = ""  # where the tasks must run; anywhere when empty

    @property
    def steps(self) -> int:
        """Volumes that are held."""
        return len(self.volumes)

    def smaller(self) -> Iterable[Hold]:
        """Each half of the volumes."""
        many = len(self.volumes)
        for kept in (self.volumes[: many // 2], self.volumes[many // 2 :]) if many > 1 else ():
            yield msgspec.structs.replace(self, volumes=kept)

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it, a thread a volume."""
        with ThreadPoolExecutor(len(self.volumes), thread_name_prefix="workload") as pool:
            going_on = [pool.submit(self._one, cluster, volume) for volume in self.volumes]
        for done in going_on:
            done.result()

    def _one(self, cluster: Cluster, volume: str) -> None:
        job = f"consumer-{volume}-holds"
        wanted = cluster.consumer(job, volume, self.node, LASTS)
        first = attach(cluster, wanted, volume, self.timeout)
        threading.Event().wait(self.seconds)
        last = runs(cluster, volume, job, self.timeout)
        detach(cluster, volume, job, last.alloc or first.alloc, self.timeout)


def hold(volumes: Sequence[str], seconds: float, *, timeout: float = STEP_TIMEOUT, node: str = "") -> Hold:
    """For every volume at once: have a task write to it for so many seconds, restarted and moved as need be.

    `timeout`: seconds until it must run then, wherever. `node`: where it must run, anywhere when left out.
    """
    return Hold(tuple(volumes), seconds, timeout, node)


def runs(cluster: Cluster, volume: str, job: str, timeout: float) -> Operation:
    """Wait until a task of a job runs, and tell of it as an operation."""
    began, error, alloc, node = cluster.recorder.now(), "", "", ""
    try:
        seen = cluster.api().until(f"job/{job}/allocations", _running, timeout=timeout, missing=[])
        alloc, node = next((stub["ID"], stub["NodeName"]) for stub in seen if _wanted(stub))
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    done = Operation(began, "run", volume, cluster.recorder.now(), alloc, node, error)
    cluster.recorder.write(done)
    return done


def wait_back(cluster: Cluster, timeout: float) -> None:
    """Wait until every client's agent answers, for so many seconds at most, and for a moment more."""
    names = [node.spec.name for node in cluster.clients()]
    with contextlib.suppress(TimedOut):
        wait_until(
            "every client answers",
            lambda: [cluster.api(name).get("agent/self") for name in names],
            timeout=timeout,
            every=0.1,
            ignoring=(MachineError,),  # the agent's, and the node's own where it is down
        )
    threading.Event().wait(BACK_FOR)


def _running(stubs: list[dict[str, Any]]) -> bool:
    return any(_wanted(stub) for stub in stubs)


def _wanted(stub: dict[str, Any]) -> bool:
    return bool(stub["ClientStatus"] == "running" and stub["DesiredStatus"] == "run")
