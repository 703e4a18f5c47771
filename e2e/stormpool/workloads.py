"""What clients of a lab do, while faults happen: frozen descriptions, carried out by the runner."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of, claims_of, exhausted
from stormpool.errors import TimedOut
from stormpool.history import Alloc, Operation
from stormpool.lab import Role
from stormpool.models.claims import REFUSED

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

PATIENCE = 4.0  # seconds a contender waits for its volume
READ_EVERY = 1.0  # seconds after which a reader without news looks whether it is still wanted
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


class Workload(Protocol):
    """Something to do with a cluster."""

    def act(self, cluster: Cluster, seed: int) -> None:
        """Do it, and write what was done into the history."""


@dataclass(frozen=True)
class AttachDetach:
    """For every volume at once: run a task that writes to it, stop the task, wait until it is free; again."""

    volumes: Sequence[str]
    per_volume: int
    timeout: float  # seconds that each attach and detach may take
    node: str = ""  # where the tasks must run; anywhere when empty

    def act(self, cluster: Cluster, seed: int) -> None:
        """Do it, a thread a volume."""
        with ThreadPoolExecutor(len(self.volumes), thread_name_prefix="workload") as pool:
            rounds = [pool.submit(self._one, cluster, volume, seed) for volume in self.volumes]
        for done in rounds:
            done.result()

    def _one(self, cluster: Cluster, volume: str, seed: int) -> None:
        chance = random.Random(f"{seed} {volume}")
        for turn in range(1, self.per_volume + 1):
            threading.Event().wait(chance.uniform(0, JITTER))
            job = f"consumer-{volume}-{turn}"
            alloc = attach(
                cluster, consumer(job, volume, cluster.task_driver, self.node), volume, self.timeout
            )
            threading.Event().wait(chance.uniform(0, JITTER))
            detach(cluster, volume, job, alloc, self.timeout)


def attach_detach(
    volumes: Sequence[str], per_volume: int, *, timeout: float = STEP_TIMEOUT, node: str = ""
) -> AttachDetach:
    """For every volume at once: attach it to a writing task and detach it, `per_volume` times.

    `timeout`: seconds that each step may take. `node`: where the tasks must run, anywhere when left out.
    """
    return AttachDetach(tuple(volumes), per_volume, timeout, node)


@dataclass(frozen=True)
class Contend:
    """Clients that all want the same volumes, and for each volume one that reads who holds it."""

    volumes: Sequence[str]
    clients: int
    rounds: int
    patience: float  # seconds that each waits for its volume
    timeout: float  # seconds that giving it back may take
    stale: bool = False  # whether every server is asked for its own copy as well

    def act(self, cluster: Cluster, seed: int) -> None:
        """Do it, a thread for each client of a volume and one for its reader."""
        over = threading.Event()
        wanted = [(volume, client) for volume in self.volumes for client in range(1, self.clients + 1)]
        with (
            ThreadPoolExecutor(len(self.volumes), thread_name_prefix="reader") as readers,
            ThreadPoolExecutor(len(wanted), thread_name_prefix="workload") as clients,
        ):
            try:
                reading = [readers.submit(self._follow, cluster, volume, over) for volume in self.volumes]
                going_on = [clients.submit(self._one, cluster, *each, seed) for each in wanted]
                for done in going_on:
                    done.result()
            finally:
                over.set()
        for done in reading:
            done.result()

    def _one(self, cluster: Cluster, volume: str, client: int, seed: int) -> None:
        chance = random.Random(f"{seed} {volume} {client}")
        for turn in range(1, self.rounds + 1):
            threading.Event().wait(chance.uniform(0, JITTER))
            job = f"contender-{volume}-{client}-{turn}"
            began = cluster.recorder.now()
            alloc = attach(cluster, consumer(job, volume, cluster.task_driver), volume, self.patience)
            read(cluster, volume)
            give_back(cluster, volume, Contender(job, alloc, began), self.timeout)

    def _follow(self, cluster: Cluster, volume: str, over: threading.Event) -> None:
        """Read who holds a volume whenever there is news of it."""
        held = read(cluster, volume)
        while not over.is_set():
            try:
                cluster.api().until(f"volume/csi/{volume}", partial(_news, held), timeout=READ_EVERY)
            except TimedOut:
                continue
            except (ApiError, Unreachable):
                over.wait(READ_EVERY)
            held = read(cluster, volume)
            for server in cluster.lab.names(Role.SERVER) if self.stale else ():
                read(cluster, volume, server)
        read(cluster, volume)


def contend(
    volumes: Sequence[str],
    *,
    clients: int = 3,
    rounds: int = 2,
    patience: float = PATIENCE,
    timeout: float = STEP_TIMEOUT,
    stale: bool = False,
) -> Contend:
    """For every volume at once: `clients` want it, `rounds` times each, and it is read who holds it.

    `patience`: seconds that each waits until its task runs. `timeout`: seconds that giving the volume back
    may take. `stale`: whether to ask every server for its own copy as well, which may be old: what is read
    then need not be linearizable.
    """
    return Contend(tuple(volumes), clients, rounds, patience, timeout, stale)


def _news(held: list[str], seen: dict[str, Any]) -> bool:
    return claims_of(seen) != held


def read(cluster: Cluster, volume: str, server: str = "") -> list[str]:
    """Ask who holds a volume: the leader, or where one is named that server for its own copy."""
    path, began = f"volume/csi/{volume}", cluster.recorder.now()
    held, error = list[str](), ""
    try:
        held = claims_of(cluster.api(server).get(path, stale="true") if server else cluster.ask(path))
    except (ApiError, Unreachable) as failed:
        error = str(failed)
    ended = cluster.recorder.now()
    cluster.recorder.write(Operation(began, "read", volume, ended, node=server, error=error, held=held))
    return held


@dataclass(frozen=True)
class Contender:
    """A job that wants a volume, its allocation as far as known, and when it began."""

    job: str
    alloc: str
    began: int


def give_back(cluster: Cluster, volume: str, mine: Contender, timeout: float) -> None:
    """Stop a contender's job and wait until nothing of it holds the volume.

    A job that was refused is tried again by the servers until it is stopped: what they placed then is told as
    an attach of which nobody knows whether it took effect.
    """
    began, allocs, error = cluster.recorder.now(), [mine.alloc] if mine.alloc else [], ""
    try:
        if not (mine.alloc and _alive(cluster, mine.alloc)):
            began = mine.began  # its claim may have been released since
        stop(cluster, mine.job, timeout)
        placed = cluster.api().until(f"job/{mine.job}/allocations", _all_over, timeout=timeout, missing=[])
        late = [alloc_of(stub) for stub in placed if stub["ID"] != mine.alloc]
        allocs += [alloc.id for alloc in late]
        _tell_late(cluster, volume, mine, late)
        cluster.api().until(
            f"volume/csi/{volume}", lambda seen: not set(allocs) & set(claims_of(seen)), timeout=timeout
        )
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    ended = cluster.recorder.now()
    for alloc in allocs:
        cluster.recorder.write(Operation(began, "detach", volume, ended, alloc, error=error))


def stop(cluster: Cluster, job: str, timeout: float) -> None:
    """Stop a job and wait until the servers place nothing of it any more."""
    evaluation = cluster.api().delete(f"job/{job}")["EvalID"]
    if evaluation:  # there is none for a job that never was
        cluster.api().until(f"evaluation/{evaluation}", _evaluated, timeout=timeout)


def _evaluated(seen: dict[str, Any] | None) -> bool:
    return seen is not None and seen["Status"] in ("complete", "failed", "canceled")


def _alive(cluster: Cluster, alloc: str) -> bool:
    return bool(cluster.api().get(f"allocation/{alloc}")["ClientStatus"] == "running")


def _all_over(stubs: list[dict[str, Any]]) -> bool:
    return not any(alloc_of(stub).live for stub in stubs)


def _tell_late(cluster: Cluster, volume: str, mine: Contender, late: list[Alloc]) -> None:
    for alloc in late:
        ended = cluster.recorder.now()
        error = "placed after its client had stopped waiting"
        cluster.recorder.write(Operation(mine.began, "attach", volume, ended, alloc.id, alloc.node, error))


def attach(cluster: Cluster, job: dict[str, Any], volume: str, timeout: float) -> str:
    """Start a task that writes to a volume, and wait until it runs or has failed.

    Returns its allocation, or nothing when none is known.
    """
    began = cluster.recorder.now()
    alloc: Alloc | None = None
    error = ""
    try:
        cluster.submit(job)
        seen = cluster.api().until(f"job/{job['ID']}/allocations", _placed, timeout=timeout, missing=[])
        alloc = _latest(seen)
        if alloc is not None and alloc.status != "running":
            error = f"allocation is {alloc.status}"
    except TimedOut as late:
        alloc, error = _waiting(cluster, job["ID"], str(late))
    except (ApiError, Unreachable) as failed:
        error = str(failed)
    ended = cluster.recorder.now()
    where = (alloc.id, alloc.node) if alloc else ("", "")
    cluster.recorder.write(Operation(began, "attach", volume, ended, *where, error))
    return where[0]


def detach(cluster: Cluster, volume: str, job: str, alloc: str, timeout: float) -> None:
    """Stop a volume's task and wait until no claim of the volume is left."""
    began, error = cluster.recorder.now(), ""
    try:
        cluster.api().delete(f"job/{job}")
        cluster.api().until(f"volume/csi/{volume}", lambda seen: not claims_of(seen), timeout=timeout)
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    cluster.recorder.write(Operation(began, "detach", volume, cluster.recorder.now(), alloc, error=error))


def _waiting(cluster: Cluster, job: str, late: str) -> tuple[Alloc | None, str]:
    """The allocation of a job that does not run yet, and why it does not."""
    try:
        alloc = _latest(cluster.api().get(f"job/{job}/allocations"))
        said = exhausted(cluster.api().get(f"job/{job}/evaluations"))
    except (ApiError, Unreachable) as failed:
        return None, f"{late}; {failed}"
    if alloc is not None:
        return alloc, f"allocation is {alloc.status}"
    # The other reason with that word is a volume whose plugin is not healthy.
    return None, next((REFUSED + reason for reason in said if "unschedulable" not in reason), late)


def _latest(stubs: list[dict[str, Any]]) -> Alloc | None:
    return alloc_of(max(stubs, key=lambda stub: int(stub["CreateIndex"]))) if stubs else None


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
