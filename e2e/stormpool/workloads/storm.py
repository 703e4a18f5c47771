"""Consumers of datasets that they have by several ways, at once: what a storm of faults is sent through."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from msgspec import structs

from stormpool import counting
from stormpool.agents.books import alloc_of
from stormpool.errors import MachineError
from stormpool.events import Alloc
from stormpool.pace import Seconds
from stormpool.workloads.attaching import attach, end
from stormpool.workloads.dataset_consumer import lives_in, tried_in
from stormpool.workloads.dataset_designs import DESIGNS, FOR_GOOD, job
from stormpool.workloads.dataset_jobs import TASK
from stormpool.workloads.hold import runs, wait_back
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

ROOT_TASK = "make"  # the one that makes a dataset as root
COUNTED_WITHIN = 3.0  # seconds until the processes of tasks must be what they are to be


class Storm(Workload, frozen=True):
    """For every design a consumer of each fate: started, gone on with for a while, counted, stopped.

    They go on for so long, and until every client answers: one that was hit is back before they are stopped.
    Volumes are made before, and deleted once they are free, as their operator would.
    """

    designs: tuple[str, ...]
    fates: tuple[str, ...]
    seconds: Seconds  # that the consumers go on
    timeout: Seconds  # seconds that a start, running again, and a stop may take, each
    home: str  # the node on which they are to run, if that can be had
    lingers: Seconds = 0.0  # seconds from the last consumer's end until the volumes are deleted
    may_leave: tuple[str, ...] = ()  # designs of which datasets may stay, beside those that never collect any

    @property
    def steps(self) -> int:
        """Consumers."""
        return len(self.designs) * len(self.fates)

    def smaller(self) -> Iterable[Storm]:
        """One design less."""
        for left_out in self.designs if len(self.designs) > 1 else ():
            yield structs.replace(self, designs=tuple(each for each in self.designs if each != left_out))

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it, a thread a consumer."""
        cluster.watch_datasets()
        for name in self.designs:
            design = DESIGNS[name]
            collects = design.collects and name not in self.may_leave
            cluster.recorder.write(structs.replace(design, t=cluster.recorder.now(), collects=collects))
        volumes = cluster.create_volumes(len(self.fates)) if "csi" in self.designs else []
        jobs = [
            job(design, fate, self.home, volume)
            for design in self.designs
            for fate, volume in zip(self.fates, volumes or self.fates, strict=True)
        ]
        with ThreadPoolExecutor(len(jobs), thread_name_prefix="workload") as pool:
            self._go_on(cluster, jobs, pool)
            tell_lives(cluster)
            list(pool.map(lambda each: end(cluster, each["ID"], self.timeout), jobs))
            tell_lives(cluster)
            threading.Event().wait(self.lingers)
            list(pool.map(lambda volume: cluster.delete_volume(volume, self.timeout), volumes))

    def _go_on(self, cluster: Cluster, jobs: list[dict[str, Any]], pool: ThreadPoolExecutor) -> None:
        """Start the consumers; those that are to go on run at the end of their time, and are counted."""
        list(pool.map(lambda each: attach(cluster, each, each["ID"], self.timeout), jobs))
        threading.Event().wait(self.seconds)
        wait_back(cluster, self.timeout)
        last = [each["ID"] for each in jobs if not each["ID"].endswith(FOR_GOOD)]
        list(pool.map(lambda name: runs(cluster, name, name, self.timeout), last))
        counting.count(cluster, lambda: counting.tasks(cluster.api()), COUNTED_WITHIN)


def storm(
    *designs: str,
    fates: Iterable[str] = ("goes-on",),
    seconds: float = 3.0,
    timeout: float = STEP_TIMEOUT,
    home: str = "client1",
    lingers: float = 0.0,
    may_leave: Iterable[str] = (),
) -> Storm:
    """Have consumers use datasets that they have by several designs, all of them when none is named, at once.

    `fates`: for each a consumer, that goes on, fails once, or fails for good. `seconds`: for which they go on
    once all have started. `home`: the node on which they run where that can be had. `lingers`: seconds from
    the last one's end until volumes are deleted. `may_leave`: designs that are known to leave datasets here:
    it is counted, and not held against them.
    """
    chosen = designs or tuple(DESIGNS)
    return Storm(chosen, tuple(fates), seconds, timeout, home, lingers, tuple(may_leave))


def tell_lives(cluster: Cluster) -> None:
    """Write down what the consumers have said so far; nothing where an output is gone, or its node is."""
    for alloc in map(alloc_of, cluster.api().get("allocations")):
        if not any(alloc.job.startswith(each.jobs) for each in DESIGNS.values()):
            continue
        for task in (TASK, ROOT_TASK):
            with contextlib.suppress(OSError, MachineError):
                _tell(cluster, alloc, task)


def _tell(cluster: Cluster, alloc: Alloc, task: str) -> None:
    path = f"{cluster.lab.data_dir}/alloc/{alloc.id}/alloc/logs/{task}.stdout.0"
    said, now = cluster.nodes[alloc.node].read(path), cluster.recorder.now()
    for life in lives_in(said, alloc.id, now):
        cluster.recorder.write(life)
    tried = tried_in(said, alloc.id, task, now)
    if tried is not None:
        cluster.recorder.write(tried)
