"""What clients of a lab do, while faults happen: frozen descriptions, carried out by the runner."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
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
from stormpool.history import Acknowledged, Contents, Operation

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

CONSUMER_TASK = "writer"
STEP_TIMEOUT = 60.0  # seconds until a consumer runs, and again until its volume is free
JITTER = 0.05  # seconds at most, by the seed, between two steps of one volume

WROTE = re.compile(r"^wrote (\d+)$", re.MULTILINE)
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


# Prints what was written, and that this is all of it.
READER = "cat /vol/writes; echo end"


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


class ReadBack(Workload, frozen=True):
    """For every volume, one after another: have a task read it, and tell of the writes it found there."""

    volumes: tuple[str, ...]
    timeout: float  # seconds until a volume must have been read

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it; what cannot be read is not told of."""
        tell_of_writes(cluster)
        for number, volume in enumerate(self.volumes, 1):
            job = f"reader-{volume}-{number}"
            with contextlib.suppress(TimedOut, ApiError, Unreachable, OSError):
                self._read(cluster, volume, job)
            detach(cluster, volume, job, self.timeout)

    def _read(self, cluster: Cluster, volume: str, job: str) -> None:
        reading = consumer(job, volume, cluster.task_driver, script=READER)
        cluster.submit({**reading, "Type": "batch"})
        path = f"job/{job}/allocations"
        alloc = alloc_of(cluster.api().until(path, _over, timeout=self.timeout, missing=[])[-1])
        *lines, last = cluster.task_output(alloc).splitlines() or [""]
        if last == "end":
            cluster.recorder.write(Contents(cluster.recorder.now(), volume, alloc.node, writes_in(lines)))


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
                if told := WROTE.findall(cluster.task_output(alloc)):
                    cluster.recorder.write(Acknowledged(cluster.recorder.now(), alloc.id, int(told[-1])))


def writes_in(lines: Iterable[str]) -> dict[str, int]:
    """How many writes of each allocation are there, from its first on, without a gap."""
    found: dict[str, int] = {}
    for line in lines:
        alloc, _, number = line.partition(" ")
        if number == str(found.get(alloc, 0) + 1):
            found[alloc] = int(number)
    return found


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


def _over(stubs: list[dict[str, Any]]) -> bool:
    return any(stub["ClientStatus"] in ("complete", "failed", "lost") for stub in stubs)


def consumer(job: str, volume: str, driver: str, node: str = "", *, script: str = CONSUMER) -> dict[str, Any]:
    """The job of a task that writes to a volume, in the shape of Nomad's JSON API.

    It is never restarted and never placed anew: what happens to it is told, not mended.
    """
    task = {
        "Name": CONSUMER_TASK,
        "Driver": driver,
        "Config": {"command": "/bin/busybox", "args": ["sh", "-c", script]},
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
