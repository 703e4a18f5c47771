"""What an agent's API says of claims and allocations, in a history's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stormpool.agents.api import Api
from stormpool.events import Alloc
from stormpool.instances import name_of

PLUGIN = "plugin-"  # what the names of plugins' jobs begin with


def of_plugin(job: str) -> bool:
    """Whether a job runs a plugin, by its name; all others are consumers."""
    return job.startswith(PLUGIN)


def claims_of(volume: dict[str, Any] | None) -> list[str]:
    """The allocations that hold a claim of a volume, as the API shows it."""
    shown = volume or {}
    return sorted({**(shown.get("ReadAllocs") or {}), **(shown.get("WriteAllocs") or {})})


def alloc_of(stub: dict[str, Any], volumes: Iterable[str] = ()) -> Alloc:
    """An allocation, from the API's list, which does not say what volumes it uses."""
    status = stub["DesiredStatus"], stub["ClientStatus"]
    return Alloc(stub["ID"], stub["JobID"], stub["NodeName"], *status, list(volumes), devices_of(stub))


def devices_of(stub: dict[str, Any], task: str = "") -> list[str]:
    """The device instances that an allocation was given, or one task of it.

    Known where the list was asked for with resources.
    """
    tasks = (stub.get("AllocatedResources") or {}).get("Tasks") or {}
    groups = [each for name, given in tasks.items() if task in ("", name) for each in given["Devices"] or []]
    return sorted(name_of(group, id) for group in groups for id in group["DeviceIDs"] or [])


def consumers(stubs: list[dict[str, Any]]) -> list[Alloc]:
    """The live allocations that are no plugin's."""
    allocs = [alloc_of(stub) for stub in stubs]
    return [alloc for alloc in allocs if alloc.live and not of_plugin(alloc.job)]


def allocations(api: Api) -> list[Alloc]:
    """Every allocation; with its volumes where it has started, for which each job is asked once."""
    stubs = api.get("allocations", resources="true")
    jobs: dict[tuple[str, int], dict[str, Any]] = {}
    for stub in filter(_uses, stubs):
        if _version(stub) not in jobs:  # the job as it was when this was placed, be it purged by now
            jobs[_version(stub)] = (api.find(f"allocation/{stub['ID']}") or {}).get("Job") or {}
    of_job = [jobs.get(_version(stub), {}) if _uses(stub) else {} for stub in stubs]
    return [alloc_of(stub, volumes_of(stub, job)) for stub, job in zip(stubs, of_job, strict=True)]


def volumes_of(stub: dict[str, Any], job: dict[str, Any]) -> list[str]:
    """The CSI volumes that an allocation uses, by its job.

    Where each allocation has one of its own, that ends with the allocation's index, as its name does (nomad,
    nomad/structs/volumes.go, `PerAlloc`).
    """
    groups = {group["Name"]: group.get("Volumes") or {} for group in job.get("TaskGroups") or []}
    asked = [each for each in groups.get(stub["TaskGroup"], {}).values() if each["Type"] == "csi"]
    index = stub["Name"][stub["Name"].rfind("[") :]
    return sorted({each["Source"] + (index if each.get("PerAlloc") else "") for each in asked})


def _uses(stub: dict[str, Any]) -> bool:
    """Whether an allocation may use volumes now: it has started, and is no plugin's."""
    return alloc_of(stub).started and not of_plugin(stub["JobID"])


def _version(stub: dict[str, Any]) -> tuple[str, int]:
    """Which version of which job an allocation is of."""
    return stub["JobID"], stub["JobVersion"]


def exhausted(evaluations: list[dict[str, Any]]) -> list[str]:
    """What the scheduler still says of volumes whose claims are exhausted."""
    said = []
    for evaluation in evaluations:
        for failed in (evaluation.get("FailedTGAllocs") or {}).values():
            if evaluation["Status"] == "blocked":
                reasons = failed.get("ConstraintFiltered") or {}
                said += [reason for reason in reasons if "exhausted" in reason]
    return sorted(set(said))
