"""Volumes that are read by a task each, to see what is on them."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of
from stormpool.errors import TimedOut
from stormpool.events import Acknowledged, Alloc, Contents
from stormpool.pace import Seconds
from stormpool.workloads.attaching import detach, placed
from stormpool.workloads.consumer import READER, How, refused_in, told_in, writes_in
from stormpool.workloads.workload import AGAIN_AFTER, STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster


class ReadBack(Workload, frozen=True):
    """For every volume, one after another: have a task read it, and tell of the writes it found there.

    A task that could not is followed by another, for a time.
    """

    volumes: tuple[str, ...]
    timeout: Seconds  # seconds until a volume must have been read

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it; what cannot be read is not told of."""
        tell_of_writes(cluster)
        for volume in self.volumes:
            ends = time.monotonic() + self.timeout
            tries = (
                self._once(cluster, volume, f"reader-{volume}-{number}") for number in itertools.count(1)
            )
            while not next(tries) and time.monotonic() < ends:
                threading.Event().wait(AGAIN_AFTER)

    def _once(self, cluster: Cluster, volume: str, job: str) -> bool:
        """Have one task read a volume, and stop it; whether it could."""
        alloc, done = "", False
        with contextlib.suppress(TimedOut, ApiError, Unreachable, OSError):
            since = cluster.submit(cluster.consumer(job, volume, how=How(READER, "batch")))
            seen = placed(cluster, job, since, Alloc.TERMINAL, self.timeout)
            alloc = seen.id
            *lines, last = cluster.task_output(seen).splitlines() or [""]
            done = last == "end"
            if done:
                told = Contents(cluster.recorder.now(), volume, seen.node, writes_in(lines))
                cluster.recorder.write(told)
        detach(cluster, volume, job, alloc, self.timeout)
        return done


def read_back(volumes: Sequence[str], *, timeout: float = STEP_TIMEOUT) -> ReadBack:
    """Have every volume read by a task of its own, and tell of the writes found there.

    To be run after the workload that wrote.
    """
    return ReadBack(tuple(volumes), timeout)


def tell_of_writes(cluster: Cluster, node: str = "") -> None:
    """Tell of what every task, or every one of a node, says that it wrote; not where its output is gone."""
    for alloc in map(alloc_of, cluster.ask("allocations")):
        if alloc.job.startswith("consumer-") and node in ("", alloc.node):
            with contextlib.suppress(OSError):
                for told in _told(alloc.id, cluster.task_output(alloc), cluster.recorder.now()):
                    cluster.recorder.write(told)


def _told(alloc: str, output: str, at: int) -> Iterator[Acknowledged]:
    """What a task says of its writes, of each life by itself."""
    writes, refused = told_in(output), refused_in(output)
    for volume, life in {**writes, **refused}:
        each = volume, life
        yield Acknowledged(at, alloc, writes.get(each, 0), life, volume, refused[each])
