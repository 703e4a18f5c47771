"""Five ways for a task to get a ZFS dataset (seed 000), as jobs that differ in nothing else."""

from __future__ import annotations

from typing import Any

from stormpool.events import Design
from stormpool.plugins import driver
from stormpool.workloads.dataset_consumer import SCRIPT, TRY
from stormpool.workloads.dataset_jobs import DESTROY, LOCAL_PATH, MAKE, TASK, around, dataset_task
from stormpool.workloads.jobs import LASTING, LOGS, ONCE, SECOND, on, one_group, shell

# By the word that a scenario calls each by. The datasets' names are those that labs configure: `GROUPS`.
DESIGNS = {
    "plain": Design(0, "device plugin", "storm-plain-", "tank/plain/", collects=False),
    "tasks": Design(0, "tasks as root", "storm-tasks-", "tank/allocs/"),
    "driver": Design(0, "task driver", "storm-driver-", "tank/tasks/"),
    "csi": Design(0, "CSI", "storm-csi-", "tank/vol", volumes=True),
    "watching": Design(0, "watching device plugin", "storm-watching-", "tank/watching/"),
}
# Two device plugins on a node: what each must be configured with, to be told apart.
GROUPS: dict[str, dict[str, str]] = {
    name: {"name": name, "parent": name, "directory": f"/{name}"} for name in ("plain", "watching")
}
# A drain moves what is healthy: that is by default what has run for ten seconds.
HEALTHY_SOON = {
    "MaxParallel": 1,
    "HealthCheck": "task_states",
    "MinHealthyTime": SECOND // 2,
    "HealthyDeadline": 60 * SECOND,
    "ProgressDeadline": 120 * SECOND,
}
FAILS_AFTER = 15  # writes, of a tenth of a second each
# What becomes of a job's tasks: those that go on, one that fails once, one that fails for good.
FATES: dict[str, dict[str, str]] = {
    "goes-on": {"FAILS_AT": "", "ALWAYS": ""},
    "fails-once": {"FAILS_AT": str(FAILS_AFTER), "ALWAYS": ""},
    "fails-for-good": {"FAILS_AT": str(FAILS_AFTER), "ALWAYS": "1"},
}
FOR_GOOD = "fails-for-good"


def job(design: str, fate: str, home: str, volume: str = "") -> dict[str, Any]:
    """The job of one consumer, in the shape of Nomad's JSON API.

    `home`: the node on which it is to run, if that can be had. `volume`: the one it has, by CSI.
    """
    name = f"{DESIGNS[design].jobs}{fate}"
    group = {
        "Name": "group",
        "Count": 1,
        "Update": HEALTHY_SOON,
        **(ONCE if fate == FOR_GOOD else LASTING),
        **_given(design, fate, volume),
        "EphemeralDisk": {"SizeMB": 20},
    }
    return {**one_group(name, group), "Affinities": [{**on(home), "Weight": 100}]}


def _given(design: str, fate: str, volume: str) -> dict[str, Any]:
    """What a group of tasks has by one of the ways."""
    if design in GROUPS:
        device = {"Name": f"zfs/dataset/{GROUPS[design]['name']}", "Count": 1}
        return {"Tasks": [_writer(fate, "/dataset", devices=[device])]}
    if design == "tasks":
        before, after = around(MAKE + TRY, DESTROY)
        return {"Tasks": [before, _writer(fate, LOCAL_PATH), after]}
    if design == "driver":
        return {"Tasks": [dataset_task(), _writer(fate, LOCAL_PATH)]}
    writer = {**_writer(fate, "/vol"), "VolumeMounts": [{"Volume": "data", "Destination": "/vol"}]}
    claim = {"Type": "csi", "AccessMode": "single-node-writer", "AttachmentMode": "file-system"}
    return {"Tasks": [writer], "Volumes": {"data": {"Name": "data", "Source": volume, **claim}}}


def _writer(fate: str, path: str, devices: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """The task itself: the same by every way."""
    return {
        "Name": TASK,
        "Driver": driver.NAME,
        "User": "nobody",
        "Config": shell(SCRIPT),
        "Env": {"DATASET": path, **FATES[fate]},
        "Resources": {"CPU": 20, "MemoryMB": 16, "Devices": devices or []},
        "KillTimeout": 2 * SECOND,
        "LogConfig": LOGS,
    }
