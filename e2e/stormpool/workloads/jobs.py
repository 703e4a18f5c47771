"""What every job of a workload has, in the shape of Nomad's JSON API."""

from __future__ import annotations

from typing import Any

from stormpool import events

SECOND = events.SECOND  # the unit of durations in Nomad's JSON is a nanosecond, too

LOGS = {"MaxFiles": 2, "MaxFileSizeMB": 2}
# What becomes of a task that fails, or whose node is lost: nothing; or it is restarted, and placed anew.
ONCE = {
    "RestartPolicy": {"Attempts": 0, "Mode": "fail"},
    "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
}
LASTING = {
    "RestartPolicy": {"Attempts": 3, "Interval": 60 * SECOND, "Delay": SECOND, "Mode": "fail"},
    "ReschedulePolicy": {"Unlimited": True, "Delay": 5 * SECOND, "DelayFunction": "constant"},
    "Migrate": {"MaxParallel": 1, "HealthCheck": "task_states", "MinHealthyTime": SECOND // 2},
}


def one_group(name: str, group: dict[str, Any], *, kind: str = "service", node: str = "") -> dict[str, Any]:
    """A job of one group. `kind`: service or batch; `node`: where it must run, anywhere when empty."""
    return {
        "ID": name,
        "Name": name,
        "Type": kind,
        "Datacenters": ["dc1"],
        "Constraints": [on(node)] if node else [],
        "TaskGroups": [group],
    }


def on(node: str) -> dict[str, Any]:
    """That a job runs on a node: as a constraint, or an affinity."""
    return {"LTarget": "${node.unique.name}", "RTarget": node, "Operand": "="}


def shell(script: str) -> dict[str, Any]:
    """The `config` block of a task that runs a script, with what is on every node."""
    return {"command": "/bin/busybox", "args": ["sh", "-c", script]}
