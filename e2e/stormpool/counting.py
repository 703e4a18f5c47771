"""Counts tasks while they are to go on: what the servers say of each, and what every node shows, together.

A count in which both do not fit is taken again for a time, for agents need some to notice; the last one is
written down, for checkers to judge.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from stormpool.agents.api import Api
from stormpool.agents.books import alloc_of, devices_of
from stormpool.checkers.no_orphaned_executor import mismatches, with_executors
from stormpool.errors import TimedOut
from stormpool.history import Census, Ended, Observed, TaskView
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

LOOK_EVERY = 0.5  # seconds between two counts
BEGINS, SAYS = "begins", "ends with "  # a task's first words, and its last


def count(cluster: Cluster, within: float) -> None:
    """Count tasks until books and nodes fit, at most so many seconds; write the last count down."""
    counts: list[tuple[Census, list[Observed]]] = []

    def take() -> list[str]:
        census = Census(cluster.recorder.now(), tasks(cluster.api()))
        looks = [cluster.look(node.spec.name) for node in cluster.clients() if node.up]
        counts.append((census, looks))
        drivers = with_executors(census, looks)
        return [what for seen in looks for what in mismatches(census, seen, drivers)]

    what = "every task has its executor"
    with contextlib.suppress(TimedOut):
        wait_until(what, take, lambda wrong: not wrong, timeout=within, every=LOOK_EVERY)
    census, looks = counts[-1]
    for event in (census, *looks):
        cluster.recorder.write(event)


def tasks(api: Api) -> list[TaskView]:
    """Every task, by the servers' word; each job is asked for once, for its drivers."""
    found, drivers = [], dict[str, dict[str, str]]()
    for stub in api.get("allocations", resources="true"):
        alloc, job = alloc_of(stub), stub["JobID"]
        if job not in drivers:
            drivers[job] = _drivers(api.find(f"allocation/{alloc.id}") or {})
        for name, state in (stub.get("TaskStates") or {}).items():
            told = state["State"] if alloc.live else "dead"
            driver = drivers[job].get(name, "")
            found.append(TaskView(alloc.id, name, alloc.node, told, driver, devices_of(stub, name)))
    return found


def _drivers(allocation: dict[str, Any]) -> dict[str, str]:
    """The driver of each task of an allocation's job."""
    groups = (allocation.get("Job") or {}).get("TaskGroups") or []
    return {task["Name"]: task["Driver"] for group in groups for task in group["Tasks"] or []}


def ends(cluster: Cluster, alloc: str, task: str) -> None:
    """Write down how the lives of a task ended, as told and as it was; nothing where its output is gone."""
    seen = cluster.ask(f"allocation/{alloc}")
    events = seen["TaskStates"][task]["Events"] or []
    told = [
        (int(event["Details"].get("exit_code", 0)), int(event["Details"].get("signal", 0)))
        for event in events
        if event["Type"] == "Terminated"
    ]
    with contextlib.suppress(OSError):
        path = f"{cluster.lab.data_dir}/alloc/{alloc}/alloc/logs/{task}.stdout.0"
        said = last_words(cluster.nodes[seen["NodeName"]].read(path))
        cluster.recorder.write(Ended(cluster.recorder.now(), alloc, task, seen["NodeName"], told, said))


def last_words(output: str) -> list[int]:
    """The code that each life of a task said it would end with; -1 where it never came to say one."""
    said: list[int] = []
    for line in output.splitlines():
        if line == BEGINS:
            said.append(-1)
        elif line.startswith(SAYS) and said:
            said[-1] = int(line.removeprefix(SAYS))
    return said
