"""Clients that all want the same volumes, and readers that tell who holds them."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of, claims_of
from stormpool.errors import TimedOut
from stormpool.events import Alloc, Operation
from stormpool.lab import Role
from stormpool.pace import Seconds
from stormpool.workloads.attaching import attach, stop
from stormpool.workloads.workload import JITTER, STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

PATIENCE = 4.0  # seconds a contender waits for its volume
READ_EVERY = 1.0  # seconds after which a reader without news looks whether it is still wanted


class Contend(Workload, frozen=True):
    """Clients that all want the same volumes, and for each volume one that reads who holds it."""

    volumes: tuple[str, ...]
    clients: int
    rounds: int
    patience: Seconds  # seconds that each waits for its volume
    timeout: Seconds  # seconds that giving it back may take
    stale: bool = False  # whether every server is asked for its own copy as well

    @property
    def steps(self) -> int:
        """Attempts to attach."""
        return len(self.volumes) * self.clients * self.rounds

    def smaller(self) -> Iterable[Contend]:
        """Half of the volumes, one client less, one round less."""
        many = len(self.volumes)
        for kept in (self.volumes[: many // 2], self.volumes[many // 2 :]) if many > 1 else ():
            yield msgspec.structs.replace(self, volumes=kept)
        if self.clients > 1:
            yield msgspec.structs.replace(self, clients=self.clients - 1)
        if self.rounds > 1:
            yield msgspec.structs.replace(self, rounds=self.rounds - 1)

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
            act = len(cluster.acts)  # jobs of an earlier one have allocations of their own
            job = f"contender-{volume}-{act}-{client}-{turn}"
            began = cluster.recorder.now()
            alloc = attach(cluster, cluster.consumer(job, volume), volume, self.patience).alloc
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


def _alive(cluster: Cluster, alloc: str) -> bool:
    return bool(cluster.api().get(f"allocation/{alloc}")["ClientStatus"] == "running")


def _all_over(stubs: list[dict[str, Any]]) -> bool:
    return not any(alloc_of(stub).live for stub in stubs)


def _tell_late(cluster: Cluster, volume: str, mine: Contender, late: list[Alloc]) -> None:
    for alloc in late:
        ended = cluster.recorder.now()
        error = "placed after its client had stopped waiting"
        cluster.recorder.write(Operation(mine.began, "attach", volume, ended, alloc.id, alloc.node, error))
