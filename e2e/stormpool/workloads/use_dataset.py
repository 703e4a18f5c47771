"""Tasks that use a dataset of the node's for a while, one after another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from stormpool.pace import Seconds
from stormpool.workloads import dataset_jobs
from stormpool.workloads.attaching import end
from stormpool.workloads.hold import runs
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "device": dataset_jobs.by_device,
    "tasks": dataset_jobs.by_tasks,
    "driver": dataset_jobs.by_driver,
}


class UseDataset(Workload, frozen=True):
    """One after another: a task has a dataset for some seconds, runs at the end of them, is stopped."""

    by: str  # device, tasks or driver: how it gets it
    turns: int
    seconds: Seconds  # that each task is to go on
    timeout: Seconds  # seconds until a task must run, and again until it must have ended
    node: str = ""  # where the tasks must run; anywhere when empty

    @property
    def steps(self) -> int:
        """Tasks."""
        return self.turns

    def smaller(self) -> Iterable[UseDataset]:
        """One turn, half of them."""
        for turns in sorted({1, self.turns // 2} - {0, self.turns}):
            yield msgspec.structs.replace(self, turns=turns)

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it."""
        for turn in range(1, self.turns + 1):
            self._one(cluster, f"dataset-{self.by}-{turn}")

    def _one(self, cluster: Cluster, job: str) -> None:
        cluster.submit(JOBS[self.by](job, cluster.task_driver, self.node))
        if not runs(cluster, job, job, self.timeout).error:
            threading.Event().wait(self.seconds)
            runs(cluster, job, job, self.timeout)
        end(cluster, job, self.timeout)


def use_dataset(
    by: str, turns: int = 1, *, seconds: float = 1.0, timeout: float = STEP_TIMEOUT, node: str = ""
) -> UseDataset:
    """Have tasks, one after another, use a dataset that they get by a device, by tasks or by a driver.

    A task that does not find its dataset mounted and empty ends at once. `seconds`: that each goes on.
    """
    return UseDataset(by, turns, seconds, timeout, node)
