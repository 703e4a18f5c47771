"""Volumes whose tasks end by themselves, and nobody stops their jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import claims_of
from stormpool.errors import TimedOut
from stormpool.events import Operation
from stormpool.pace import Seconds
from stormpool.workloads.attaching import attach
from stormpool.workloads.consumer import How, Script
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster


class EndByItself(Workload, frozen=True):
    """For every volume, one after another: a batch task uses it for a second, ends, and it becomes free."""

    volumes: tuple[str, ...]
    code: int  # that the task ends with
    timeout: Seconds  # seconds until the volume must be free

    @property
    def steps(self) -> int:
        """Tasks."""
        return len(self.volumes)

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it."""
        ends = f"sleep 1; exit {self.code}"
        how = How(Script(ends, ends), "batch")
        for volume in self.volumes:
            job = cluster.consumer(f"consumer-{volume}-ends", volume, how=how)
            alloc = attach(cluster, job, volume, self.timeout).alloc
            began, error = cluster.recorder.now(), ""
            try:
                cluster.api().until(
                    f"volume/csi/{volume}", lambda seen: not claims_of(seen), timeout=self.timeout
                )
            except (TimedOut, ApiError, Unreachable) as failed:
                error = str(failed)
            ended = cluster.recorder.now()
            cluster.recorder.write(Operation(began, "detach", volume, ended, alloc, error=error))


def end_by_itself(volumes: Sequence[str], *, code: int, timeout: float = STEP_TIMEOUT) -> EndByItself:
    """For every volume: run a task that ends with an exit code, and wait until the volume is free again."""
    return EndByItself(tuple(volumes), code, timeout)
