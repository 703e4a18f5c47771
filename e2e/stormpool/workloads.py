"""What clients of a lab do, while faults happen: frozen descriptions, carried out by the runner."""

from __future__ import annotations

import itertools
import random
import threading
import time
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of, claims_of
from stormpool.errors import TimedOut
from stormpool.history import Operation

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

STEP_TIMEOUT = 60.0  # seconds until a consumer runs, and again until its volume is free
JITTER = 0.05  # seconds at most, by the seed, between two steps of one volume

# Writes a line at a time to its volume, made durable before it is told, until it is told to stop.
CONSUMER = """
trap 'exit 0' INT TERM
n=0
while :; do
  n=$((n + 1))
  echo "$NOMAD_ALLOC_ID $n" >>/vol/writes && sync /vol/writes && echo "wrote $n"
  usleep 100000
done
"""


class Workload(msgspec.Struct, frozen=True, tag=True):
    """Something to do with a cluster."""

    @property
    def steps(self) -> int:
        """How much it does."""
        return 1

    def smaller(self) -> Iterable[Workload]:
        """Workloads that do less of the same, for finding the least that still shows a breach."""
        return ()

    @abstractmethod
    def act(self, cluster: Cluster, seed: int) -> None:
        """Do it, and write what was done into the history."""


class AttachDetach(Workload, frozen=True):
    """For every volume at once: run a task that writes to it, stop the task, wait until it is free; again.

    A task that fails is followed by another until one has run, or the time for it is over.
    """

    volumes: tuple[str, ...]
    per_volume: int
    timeout: float  # seconds that each attach and detach may take, and until a task must have run
    node: str = ""  # where the tasks must run; anywhere when empty

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
            ran = attach(
                cluster, consumer(name, volume, cluster.task_driver, self.node), volume, self.timeout
            )
            threading.Event().wait(chance.uniform(0, JITTER))
            detach(cluster, volume, name, self.timeout)
            if ran or time.monotonic() > ends:
                return


def attach_detach(
    volumes: Sequence[str], per_volume: int, *, timeout: float = STEP_TIMEOUT, node: str = ""
) -> AttachDetach:
    """For every volume at once: attach it to a writing task and detach it, `per_volume` times.

    `timeout`: seconds that each step may take. `node`: where the tasks must run, anywhere when left out.
    """
    return AttachDetach(tuple(volumes), per_volume, timeout, node)


def attach(cluster: Cluster, job: dict[str, Any], volume: str, timeout: float) -> bool:
    """Start a task that writes to a volume, and wait until it runs or has failed; whether it runs."""
    began = cluster.recorder.now()
    alloc, error = None, ""
    try:
        cluster.submit(job)
        seen = cluster.api().until(f"job/{job['ID']}/allocations", _placed, timeout=timeout, missing=[])
        alloc = alloc_of(max(seen, key=lambda stub: int(stub["CreateIndex"])))
        if alloc.status != "running":
            error = f"allocation is {alloc.status}"
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    ended = cluster.recorder.now()
    where = (alloc.id, alloc.node) if alloc else ("", "")
    cluster.recorder.write(Operation(began, "attach", volume, ended, *where, error))
    return not error


def detach(cluster: Cluster, volume: str, job: str, timeout: float) -> None:
    """Stop a volume's task and wait until no claim of the volume is left."""
    began, error = cluster.recorder.now(), ""
    try:
        cluster.api().delete(f"job/{job}")
        cluster.api().until(f"volume/csi/{volume}", lambda seen: not claims_of(seen), timeout=timeout)
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    cluster.recorder.write(Operation(began, "detach", volume, cluster.recorder.now(), error=error))


def _placed(stubs: list[dict[str, Any]]) -> bool:
    return any(stub["ClientStatus"] in ("running", "failed", "complete", "lost") for stub in stubs)


def consumer(job: str, volume: str, driver: str, node: str = "") -> dict[str, Any]:
    """The job of a task that writes to a volume, in the shape of Nomad's JSON API.

    It is never restarted and never placed anew: what happens to it is told, not mended.
    """
    task = {
        "Name": "writer",
        "Driver": driver,
        "Config": {"command": "/bin/busybox", "args": ["sh", "-c", CONSUMER]},
        "VolumeMounts": [{"Volume": "data", "Destination": "/vol"}],
        "Resources": {"CPU": 50, "MemoryMB": 32},
        "KillTimeout": 2 * 10**9,
        "LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 2},
    }
    group = {
        "Name": "writer",
        "Count": 1,
        "Tasks": [task],
        "Volumes": {
            "data": {
                "Name": "data",
                "Type": "csi",
                "Source": volume,
                "AccessMode": "single-node-writer",
                "AttachmentMode": "file-system",
            }
        },
        "RestartPolicy": {"Attempts": 0, "Mode": "fail"},
        "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
        "EphemeralDisk": {"SizeMB": 50},
    }
    here = {"LTarget": "${node.unique.name}", "RTarget": node, "Operand": "="}
    return {
        "ID": job,
        "Name": job,
        "Type": "service",
        "Datacenters": ["dc1"],
        "Constraints": [here] if node else [],
        "TaskGroups": [group],
    }
