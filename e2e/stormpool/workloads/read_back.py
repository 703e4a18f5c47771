"""Volumes that are read by a task each, to see what is on them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of
from stormpool.errors import TimedOut
from stormpool.history import Acknowledged, Contents
from stormpool.workloads.attaching import detach
from stormpool.workloads.consumer import READER, How, consumer, told_in, writes_in
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster


class ReadBack(Workload, frozen=True):
    """For every volume, one after another: have a task read it, and tell of the writes it found there."""

    volumes: tuple[str, ...]
    timeout: float  # seconds until a volume must have been read

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it; what cannot be read is not told of."""
        tell_of_writes(cluster)
        for number, volume in enumerate(self.volumes, 1):
            job = f"reader-{volume}-{number}"
            alloc = ""
            with contextlib.suppress(TimedOut, ApiError, Unreachable, OSError):
                alloc = self._read(cluster, volume, job)
            detach(cluster, volume, job, alloc, self.timeout)

    def _read(self, cluster: Cluster, volume: str, job: str) -> str:
        """Have one volume read; the allocation that did."""
        cluster.submit(consumer(job, volume, cluster.task_driver, how=How(READER, "batch")))
        path = f"job/{job}/allocations"
        alloc = alloc_of(cluster.api().until(path, _over, timeout=self.timeout, missing=[])[-1])
        *lines, last = cluster.task_output(alloc).splitlines() or [""]
        if last == "end":
            cluster.recorder.write(Contents(cluster.recorder.now(), volume, alloc.node, writes_in(lines)))
        return alloc.id


def read_back(volumes: Sequence[str], *, timeout: float = STEP_TIMEOUT) -> ReadBack:
    """Have every volume read by a task of its own, and tell of the writes found there.

    To be run after the workload that wrote.
    """
    return ReadBack(tuple(volumes), timeout)


def tell_of_writes(cluster: Cluster) -> None:
    """Tell of what every task says that it wrote; one whose output is gone is left out."""
    for alloc in map(alloc_of, cluster.ask("allocations")):
        if alloc.job.startswith("consumer-"):
            with contextlib.suppress(OSError):
                for (volume, life), writes in told_in(cluster.task_output(alloc)).items():
                    told = Acknowledged(cluster.recorder.now(), alloc.id, writes, life, volume)
                    cluster.recorder.write(told)


def _over(stubs: list[dict[str, Any]]) -> bool:
    return any(stub["ClientStatus"] in ("complete", "failed", "lost") for stub in stubs)
