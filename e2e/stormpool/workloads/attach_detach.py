"""Volumes that are attached to tasks and detached again."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec

from stormpool.pace import Seconds
from stormpool.workloads.attaching import attach, detach
from stormpool.workloads.workload import AGAIN_AFTER, JITTER, STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster


class AttachDetach(Workload, frozen=True):
    """For every volume at once: run a task that writes to it, stop the task, wait until it is free; again.

    A task that fails is followed by another until one has run, or the time for it is over.
    """

    volumes: tuple[str, ...]
    per_volume: int
    timeout: Seconds  # seconds that each attach and detach may take, and until a task must have run
    node: str = ""  # where the tasks must run; anywhere when empty
    after: Seconds = 0.0  # seconds until it begins

    @property
    def steps(self) -> int:
        """Attachments, and as many detachments."""
        return len(self.volumes) * self.per_volume

    def smaller(self) -> Iterable[AttachDetach]:
        """Half of the volumes, all but one, fewer turns."""
        many = len(self.volumes)
        halves = [self.volumes[: many // 2], self.volumes[many // 2 :]] if many > 1 else []
        without = [[*self.volumes[:at], *self.volumes[at + 1 :]] for at in range(many) if many > 2]
        yield from (msgspec.structs.replace(self, volumes=tuple(kept)) for kept in (*halves, *without))
        for turns in sorted({1, self.per_volume // 2, self.per_volume - 1} - {0, self.per_volume}):
            yield msgspec.structs.replace(self, per_volume=turns)

    def act(self, cluster: Cluster, seed: int) -> None:
        """Do it, a thread a volume."""
        threading.Event().wait(self.after)
        with ThreadPoolExecutor(len(self.volumes), thread_name_prefix="workload") as pool:
            rounds = [pool.submit(self._one, cluster, volume, seed) for volume in self.volumes]
        for done in rounds:
            done.result()

    def _one(self, cluster: Cluster, volume: str, seed: int) -> None:
        chance = random.Random(f"{seed} {volume}")
        for turn in range(1, self.per_volume + 1):
            self._once(cluster, volume, f"consumer-{volume}-{turn}", chance)

    def _once(self, cluster: Cluster, volume: str, job: str, chance: random.Random) -> None:
        """Have a task run on a volume, and stop it; one that fails is followed by another, for a time."""
        ends = time.monotonic() + self.timeout
        for number in itertools.count(1):
            name = job if number == 1 else f"{job}-again{number - 1}"
            threading.Event().wait(chance.uniform(0, JITTER))
            wanted = cluster.consumer(name, volume, self.node)
            done = attach(cluster, wanted, volume, self.timeout)
            threading.Event().wait(chance.uniform(0, JITTER))
            detach(cluster, volume, name, done.alloc, self.timeout)
            if not done.error or time.monotonic() > ends:
                return
            threading.Event().wait(AGAIN_AFTER)


def attach_detach(
    volumes: Sequence[str],
    per_volume: int,
    *,
    timeout: float = STEP_TIMEOUT,
    node: str = "",
    after: float = 0.0,
) -> AttachDetach:
    """For every volume at once: attach it to a writing task and detach it, `per_volume` times.

    `timeout`: seconds that each step may take. `node`: where the tasks must run, anywhere when left out.
    `after`: seconds until it begins.
    """
    return AttachDetach(tuple(volumes), per_volume, timeout, node, after)
