"""A volume that two tasks of one node share for a moment, the one going as the other comes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from stormpool.pace import Seconds
from stormpool.workloads.attaching import attach, detach, stop
from stormpool.workloads.consumer import How
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

SHARED = "multi-node-multi-writer"
SHARES = How(access=SHARED)


class HandOver(Workload, frozen=True):
    """A task uses a volume on a node; another one that wants it there comes while the first is stopped."""

    volume: str  # one made with `access=SHARED`
    node: str
    timeout: Seconds  # seconds that each step may take

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it."""
        first, second = (
            cluster.consumer(f"consumer-{self.volume}-{which}", self.volume, self.node, SHARES)
            for which in ("first", "second")
        )
        attach(cluster, first, self.volume, self.timeout)
        with ThreadPoolExecutor(1, thread_name_prefix="workload") as other:
            coming = other.submit(attach, cluster, second, self.volume, self.timeout)
            stop(cluster, first["ID"], self.timeout)
            alloc = coming.result().alloc
        detach(cluster, self.volume, second["ID"], alloc, self.timeout)


def hand_over(volume: str, node: str, *, timeout: float = STEP_TIMEOUT) -> HandOver:
    """On one node: have a task use a shared volume, and stop it while another comes that wants it too."""
    return HandOver(volume, node, timeout)
