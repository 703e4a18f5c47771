"""What an agent's API says of claims and allocations, in a history's words."""

from __future__ import annotations

from typing import Any

from stormpool.history import Alloc


def claims_of(volume: dict[str, Any] | None) -> list[str]:
    """The allocations that hold a claim of a volume, as the API shows it."""
    shown = volume or {}
    return sorted({**(shown.get("ReadAllocs") or {}), **(shown.get("WriteAllocs") or {})})


def alloc_of(stub: dict[str, Any]) -> Alloc:
    """An allocation, from the API's list."""
    return Alloc(stub["ID"], stub["JobID"], stub["NodeName"], stub["DesiredStatus"], stub["ClientStatus"])


def consumers(stubs: list[dict[str, Any]]) -> list[Alloc]:
    """The live allocations that are no plugin's."""
    allocs = [alloc_of(stub) for stub in stubs]
    return [alloc for alloc in allocs if alloc.live and not alloc.job.startswith("plugin-")]


def exhausted(evaluations: list[dict[str, Any]]) -> list[str]:
    """What the scheduler still says of volumes whose claims are exhausted."""
    said = []
    for evaluation in evaluations:
        for failed in (evaluation.get("FailedTGAllocs") or {}).values():
            if evaluation["Status"] == "blocked":
                reasons = failed.get("ConstraintFiltered") or {}
                said += [reason for reason in reasons if "exhausted" in reason]
    return sorted(set(said))
