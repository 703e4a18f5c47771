"""Executors and their tasks, each with the other (seed 004; nomad issues 24219 and 24495)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from stormpool.checkers.paired import counted, seen_on, settled
from stormpool.events import Census, Observed, Process, TaskView
from stormpool.history import NEVER, History
from stormpool.verdict import Verdict, guarantee


@guarantee("no orphaned executor")
def no_orphaned_executor(history: History) -> Verdict:
    """Every executor process has a live task and every live task its executor, one and no more.

    By the node's processes against the servers' books: while tasks are to go on, counted once faults are
    healed, and when all has settled, when there is to be none of an allocation that is over. Also no task
    lives on whose executor is gone. A task of a driver that is never seen with executors needs none.
    """
    witnesses, judged = [], 0
    tasks = [task for census in history.of(Census) for task in census.tasks]
    drivers = with_executors(tasks, history.of(Observed))
    for census, looks in counted(history):
        judged += len(looks)
        for look in looks:
            witnesses += [seen_on(what, look) for what in mismatches(census, look, drivers)]
    for books, looks in settled(history):
        for look in looks:
            judged += 1
            witnesses += [seen_on(what, look) for what in _of_the_dead(look, books.live)]
    return no_orphaned_executor.found(judged, witnesses, nothing="no node was looked at")


def with_executors(tasks: Iterable[TaskView], looks: Iterable[Observed]) -> set[str]:
    """The drivers of which a task was seen with an executor.

    Whose an executor is cannot be seen in an allocation with tasks of several drivers: it is of no account.
    """
    allocs = {process.alloc for look in looks for process in look.processes if process.is_executor}
    drivers: dict[str, set[str]] = defaultdict(set)
    for task in tasks:
        if task.alloc in allocs:
            drivers[task.alloc].add(task.driver)
    return {driver for found in drivers.values() if len(found) == 1 for driver in found}


def mismatches(census: Census, look: Observed, drivers: Collection[str]) -> Iterator[str]:
    """What of a node's executors and tasks does not fit what the servers say."""
    here = [task for task in census.tasks if task.node == look.node]
    running: dict[str, list[TaskView]] = defaultdict(list)
    for task in here:
        if task.state == "running" and task.driver in drivers:
            running[task.alloc].append(task)
    executors: dict[str, list[Process]] = defaultdict(list)
    for process in look.processes:
        if process.is_executor:
            executors[process.alloc].append(process)
    for alloc in sorted({*running, *executors}):
        wanted, there = len(running[alloc]), len(executors[alloc])
        if wanted != there:
            pids = ", ".join(str(process.pid) for process in executors[alloc]) or "none"
            yield f"allocation {alloc[:8]} has {wanted} live tasks and {there} executors ({pids})"
    for alloc in sorted({task.alloc for task in here if task.driver in drivers}):
        yield from _without_executor(look, alloc, executors[alloc])


def _without_executor(look: Observed, alloc: str, executors: list[Process]) -> Iterator[str]:
    """Tasks whose executor is gone: children of the node's first process, older than any that is there."""
    oldest = min((each.started for each in executors), default=NEVER)
    for process in look.processes:
        orphaned = process.parent in (NOBODY, INIT) and process.started < oldest
        if process.task and process.alloc == alloc and orphaned:
            yield f"process {process.pid} of allocation {alloc[:8]} lives on without an executor"


def _of_the_dead(look: Observed, live: set[str]) -> Iterator[str]:
    """Executors of allocations that are over."""
    for process in look.processes:
        if process.is_executor and process.alloc not in live:
            yield f"executor {process.pid} of allocation {process.alloc[:8]}, which is over, was left"


NOBODY, INIT = 0, 1  # the pids of the first process of a node, and of who started that
