"""Jobs of tasks that have a ZFS dataset for as long as they run, by the ways there are without CSI.

Each is in the shape of Nomad's JSON API; `driver` is what their main task runs under.
"""

from __future__ import annotations

from typing import Any

from stormpool.workloads.jobs import LOGS, ONCE, SECOND, one_group, shell

TASK = "writer"
DEVICE = "zfs/dataset/tank"
# Where a task finds its dataset, as it sees it.
DEVICE_PATH, LOCAL_PATH = "/dataset", "/local/dataset"

# Ends at once unless its dataset is mounted and empty; else writes to it until it is told to stop.
USE = """
trap 'exit 0' INT TERM
mount | grep " on $DATASET type " || exit 3
ls -A "$DATASET" | grep . && exit 4
n=0
while :; do
  n=$((n + 1))
  echo "$NOMAD_ALLOC_ID $n" | dd of="$DATASET/writes" oflag=append conv=notrunc,fsync 2>/dev/null || exit 5
  usleep 100000
done"""

# What a submitter who may run tasks as root writes into his job. One mount at a time on a node: zfs-fuse's
# commands know no better (0.7.0). Below the main task's own directory: the agent shows tasks of `exec` the
# shared one without what is mounted in it.
MAKE = """
set -eu
place="$NOMAD_ALLOC_DIR/../writer/local/dataset"
zfs create -o mountpoint=none tank/allocs 2>/dev/null || zfs list tank/allocs >/dev/null
flock /run/lock/zfs-mounting zfs create -o mountpoint="$(realpath -m "$place")" "tank/allocs/$NOMAD_ALLOC_ID"
chmod 777 "$place"
"""
# zfs-fuse's daemon lets go of a file system a while after it was unmounted: until then it is busy (0.7.0).
DESTROY = """
for n in $(seq 50); do
  zfs destroy -r "tank/allocs/$NOMAD_ALLOC_ID" && exit 0
  sleep 0.1
done
exit 1"""


def by_device(job: str, driver: str, node: str = "") -> dict[str, Any]:
    """A task with an instance of the device plugin's."""
    task = _main(driver, DEVICE_PATH)
    task["Resources"]["Devices"] = [{"Name": DEVICE, "Count": 1}]
    return _job(job, [task], node)


def by_tasks(job: str, driver: str, node: str = "", prestart: str = MAKE) -> dict[str, Any]:
    """A task between two that run as root on the node: one makes its dataset, one destroys it."""
    before, after = around(prestart, DESTROY)
    return _job(job, [before, _main(driver, LOCAL_PATH), after], node)


def by_driver(job: str, driver: str, node: str = "") -> dict[str, Any]:
    """A task beside one that is its dataset."""
    return _job(job, [dataset_task(), _main(driver, LOCAL_PATH)], node)


def dataset_task() -> dict[str, Any]:
    """A task that is a dataset."""
    return {
        "Name": "data",
        "Driver": "zfs_dataset",
        "Config": {"tasks": [TASK]},
        "Lifecycle": {"Hook": "prestart", "Sidecar": True},
        "Resources": {"CPU": 10, "MemoryMB": 10},
        "LogConfig": LOGS,
    }


def around(script_before: str, script_after: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tasks that run as root before and after the others."""
    before = {**root_task("make", script_before), "Lifecycle": {"Hook": "prestart", "Sidecar": False}}
    after = {**root_task("destroy", script_after), "Lifecycle": {"Hook": "poststop", "Sidecar": False}}
    return before, after


def _main(driver: str, path: str) -> dict[str, Any]:
    return {
        "Name": TASK,
        "Driver": driver,
        "Config": shell(USE),
        "Env": {"DATASET": path},
        "Resources": {"CPU": 50, "MemoryMB": 32},
        "KillTimeout": 2 * SECOND,
        "LogConfig": LOGS,
    }


def root_task(name: str, script: str) -> dict[str, Any]:
    """A task that runs a script as root on the node."""
    return {
        "Name": name,
        "Driver": "raw_exec",
        "Config": {"command": "/bin/sh", "args": ["-c", script]},
        "Resources": {"CPU": 10, "MemoryMB": 10},
        "LogConfig": LOGS,
    }


def _job(job: str, tasks: list[dict[str, Any]], node: str) -> dict[str, Any]:
    group = {"Name": "writer", "Count": 1, "Tasks": tasks, **ONCE, "EphemeralDisk": {"SizeMB": 50}}
    return one_group(job, group, node=node)
