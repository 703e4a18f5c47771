"""Counts tasks while they are to go on: what the servers say of each, and what every node shows, together.

A count in which both do not fit is taken again for a time, for agents need some to notice; the last one is
written down, for checkers to judge.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stormpool.agents.api import Api
from stormpool.agents.books import alloc_of, devices_of
from stormpool.checkers.no_orphaned_executor import mismatches, with_executors
from stormpool.errors import TimedOut
from stormpool.events import Census, Ended, Observed, TaskView
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.site import Site

LOOK_EVERY = 0.5  # seconds between two counts
LIVES = "lives"  # the file in an allocation's shared directory in which its task says so
LISTS = ("set_contains", "set_contains_all", "set_contains_any", "=", "==", "is")  # operands of constraints
BEGINS, SAYS = "begins", "ends with "  # a task's first words, and its last


def count(site: Site, tasks: Callable[[], list[TaskView]], within: float) -> None:
    """Count tasks until they fit the nodes, at most so many seconds; write the last count down.

    `tasks`: what there is by the word of who is asked.
    """
    counts: list[tuple[Census, list[Observed]]] = []
    before = site.so_far()[0].of(Observed)

    def take() -> list[str]:
        census, looks = Census(site.recorder.now(), tasks()), _looks(site)
        counts.append((census, looks))
        drivers = with_executors(census.tasks, (*before, *looks))
        return [what for seen in looks for what in mismatches(census, seen, drivers)]

    what = "every task has its executor"
    with contextlib.suppress(TimedOut):
        wait_until(what, take, lambda wrong: not wrong, timeout=within, every=LOOK_EVERY)
    census, looks = counts[-1]
    for event in (census, *looks):
        site.recorder.write(event)


def look(site: Site) -> None:
    """Write down what every node shows now that tasks have begun: it tells which drivers have executors."""
    for seen in _looks(site):
        site.recorder.write(seen)


def _looks(site: Site) -> list[Observed]:
    return [site.look(node.spec.name) for node in site.clients() if node.up]


def tasks(api: Api) -> list[TaskView]:
    """Every task, by the servers' word; each job is asked for once, for its drivers."""
    found, jobs = [], dict[str, dict[str, dict[str, Any]]]()
    for stub in api.get("allocations", resources="true"):
        alloc, job = alloc_of(stub), stub["JobID"]
        if job not in jobs:
            jobs[job] = _tasks(api.find(f"allocation/{alloc.id}") or {})
        for name, state in (stub.get("TaskStates") or {}).items():
            told = state["State"] if alloc.live else "dead"
            task = jobs[job].get(name, {})
            given = devices_of(stub, name)
            driver = task.get("Driver", "")
            found.append(TaskView(alloc.id, name, alloc.node, told, driver, given, *asked_of(task)))
    return found


def _tasks(allocation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each task of an allocation's job, by its name."""
    groups = (allocation.get("Job") or {}).get("TaskGroups") or []
    return {task["Name"]: task for group in groups for task in group["Tasks"] or []}


def asked_of(task: dict[str, Any]) -> tuple[int, list[str]]:
    """How many devices a task asks for, and the instances that it names, where each it asks for is named."""
    asked = (task.get("Resources") or {}).get("Devices") or []
    named = [_named(each) for each in asked]
    wanted = [id for ids in named for id in ids] if all(named) else []
    return sum(int(each["Count"] or 1) for each in asked), wanted


def _named(asked: dict[str, Any]) -> list[str]:
    """The instances that a job names for what it asks for (nomad, website: `${device.ids}`)."""
    return [
        id.strip()
        for constraint in asked.get("Constraints") or []
        if constraint["LTarget"] == "${device.ids}" and constraint["Operand"] in LISTS
        for id in constraint["RTarget"].split(",")
    ]


def ends(cluster: Cluster, alloc: str, task: str) -> None:
    """Write down how the lives of a task ended, as told and as it was; nothing where its words are gone."""
    seen = cluster.ask(f"allocation/{alloc}")
    events = seen["TaskStates"][task]["Events"] or []
    told = [
        (int(event["Details"].get("exit_code", 0)), int(event["Details"].get("signal", 0)))
        for event in events
        if event["Type"] == "Terminated"
    ]
    with contextlib.suppress(OSError):
        path = f"{cluster.lab.data_dir}/alloc/{alloc}/alloc/{LIVES}"
        said = last_words(cluster.nodes[seen["NodeName"]].read(path))
        cluster.recorder.write(Ended(cluster.recorder.now(), alloc, task, seen["NodeName"], told, said))


def last_words(lives: str) -> list[int]:
    """The code that each life of a task said it would end with; -1 where it never came to say one."""
    said: list[int] = []
    for line in lives.splitlines():
        if line == BEGINS:
            said.append(-1)
        elif line.startswith(SAYS) and said:
            said[-1] = int(line.removeprefix(SAYS))
    return said
