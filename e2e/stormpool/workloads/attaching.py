"""The steps of a client that uses a volume, each told of as an operation."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of, claims_of, exhausted
from stormpool.errors import TimedOut
from stormpool.events import Alloc, Operation
from stormpool.models.claims import REFUSED

if TYPE_CHECKING:
    from stormpool.cluster import Cluster


def attach(cluster: Cluster, job: dict[str, Any], volume: str, timeout: float) -> Operation:
    """Start a task that writes to a volume, and wait until it runs or has failed.

    Returns what is told of it.
    """
    began = cluster.recorder.now()
    alloc: Alloc | None = None
    error, since = "", 0
    try:
        since = cluster.submit(job)
        alloc = placed(cluster, job["ID"], since, {"running", *Alloc.TERMINAL}, timeout)
        if alloc.status != "running":
            error = f"allocation is {alloc.status}"
    except TimedOut as late:
        alloc, error = _waiting(cluster, job["ID"], since, str(late))
    except (ApiError, Unreachable) as failed:
        error = str(failed)
    ended = cluster.recorder.now()
    where = (alloc.id, alloc.node) if alloc else ("", "")
    done = Operation(began, "attach", volume, ended, *where, error)
    cluster.recorder.write(done)
    return done


def placed(cluster: Cluster, job: str, since: int, statuses: Collection[str], timeout: float) -> Alloc:
    """The latest allocation of a job, once one has such a status; none of before it was registered, `since`.

    Raises `TimedOut` after so many seconds.
    """

    def there(stubs: list[dict[str, Any]]) -> bool:
        return any(stub["ClientStatus"] in statuses for stub in fresh(stubs, since))

    seen = cluster.api().until(f"job/{job}/allocations", there, timeout=timeout, missing=[])
    return _latest(fresh(seen, since))


def detach(cluster: Cluster, volume: str, job: str, alloc: str, timeout: float) -> None:
    """Stop a volume's task and wait until no claim of the volume is left."""
    began, error = cluster.recorder.now(), ""
    try:
        cluster.api().delete(f"job/{job}")
        cluster.api().until(f"volume/csi/{volume}", lambda seen: not claims_of(seen), timeout=timeout)
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    cluster.recorder.write(Operation(began, "detach", volume, cluster.recorder.now(), alloc, error=error))


def end(cluster: Cluster, job: str, timeout: float) -> None:
    """Stop a job, and wait until every allocation of it is over; ones that are collected are."""
    began, error = cluster.recorder.now(), ""
    try:
        cluster.api().delete(f"job/{job}")
        cluster.api().until(f"job/{job}/allocations", _over, timeout=timeout, missing=[])
    except (TimedOut, ApiError, Unreachable) as failed:
        error = str(failed)
    cluster.recorder.write(Operation(began, "stop", job, cluster.recorder.now(), error=error))


def _over(stubs: list[dict[str, Any]]) -> bool:
    return not any(alloc_of(stub).live for stub in stubs)


def _waiting(cluster: Cluster, job: str, since: int, late: str) -> tuple[Alloc | None, str]:
    """The allocation of a job that does not run yet, and why it does not."""
    try:
        placed_now = fresh(cluster.api().get(f"job/{job}/allocations"), since)
        said = exhausted(cluster.api().get(f"job/{job}/evaluations"))
    except (ApiError, Unreachable) as failed:
        return None, f"{late}; {failed}"
    if placed_now:
        return (alloc := _latest(placed_now)), f"allocation is {alloc.status}"
    # The other reason with that word is a volume whose plugin is not healthy.
    return None, next((REFUSED + reason for reason in said if "unschedulable" not in reason), late)


def fresh(stubs: list[dict[str, Any]], since: int) -> list[dict[str, Any]]:
    """The allocations that were placed after an index of the servers' state."""
    return [stub for stub in stubs if stub["CreateIndex"] > since]


def _latest(stubs: list[dict[str, Any]]) -> Alloc:
    return alloc_of(max(stubs, key=lambda stub: int(stub["CreateIndex"])))


def stop(cluster: Cluster, job: str, timeout: float) -> None:
    """Stop a job and wait until the servers place nothing of it any more."""
    evaluation = cluster.api().delete(f"job/{job}")["EvalID"]
    if evaluation:  # there is none for a job that never was
        cluster.api().until(f"evaluation/{evaluation}", _evaluated, timeout=timeout)


def _evaluated(seen: dict[str, Any] | None) -> bool:
    return seen is not None and seen["Status"] in ("complete", "failed", "canceled")
