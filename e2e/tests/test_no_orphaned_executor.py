"""Executors and tasks are held against the servers' books, each with the other."""

from msgspec import structs

from stormpool.checkers.no_orphaned_executor import no_orphaned_executor
from stormpool.events import Alloc, Books, Census, Event, Observed, Operation, Process, TaskView
from stormpool.history import History
from stormpool.verdict import Outcome

ALLOC = "0b8e12ab-1111-4222-8333-123456789abc"
EXECUTOR = Process(20, 500, "python3", "python -m zfs_driver executor --directory /x", 1, ALLOC)
TASK = Process(21, 501, "busybox", "sh -c true", 20, ALLOC, "writer")
NOMADS = Process(30, 600, "nomad", "/bin/nomad executor {}", 9, ALLOC)


def census(state: str = "running", driver: str = "zfs_driver") -> Census:
    return Census(10, [TaskView(ALLOC, "writer", "client1", state, driver)])


def look(*processes: Process, settled: bool = False, t: int = 11) -> Observed:
    return Observed(t, "client1", processes=list(processes), whole=True, settled=settled)


def books(status: str) -> Books:
    return Books(20, {}, [Alloc(ALLOC, "task1", "client1", "stop", status)])


def judged(*events: Event) -> tuple[Outcome, str]:
    verdict = no_orphaned_executor(History(events))
    return verdict.outcome, verdict.why


def test_a_task_with_its_executor_is_well() -> None:
    assert judged(census(), look(EXECUTOR, TASK))[0] is Outcome.VALID
    assert judged(census("dead"), look())[0] is Outcome.VALID


def test_whose_an_executor_is_cannot_be_told_beside_a_task_of_another_driver() -> None:
    beside = Census(10, [*census().tasks, TaskView(ALLOC, "data", "client1", "running", "zfs_dataset")])
    other = ALLOC.replace("0b8e", "1c9f")
    alone = TaskView(other, "writer", "client1", "running", "zfs_driver")
    executors = (EXECUTOR, TASK, structs.replace(EXECUTOR, pid=40, alloc=other))
    assert judged(structs.replace(beside, tasks=[*beside.tasks, alone]), look(*executors))[0] is Outcome.VALID


def test_an_executor_tells_of_its_driver_whatever_its_task_is() -> None:
    other = ALLOC.replace("0b8e", "1c9f")
    both = Census(
        10, [*census("pending").tasks, TaskView(other, "writer", "client1", "running", "zfs_driver")]
    )
    outcome, why = judged(both, look(EXECUTOR, TASK))
    assert outcome is Outcome.INVALID
    assert "has 0 live tasks and 1 executors" in why


def test_nothing_is_known_where_nobody_looked() -> None:
    assert judged(census())[0] is Outcome.UNKNOWN


def test_an_executor_without_a_live_task() -> None:
    outcome, why = judged(census("dead"), look(EXECUTOR))
    assert outcome is Outcome.INVALID
    assert "has 0 live tasks and 1 executors (20)" in why


def test_two_executors_of_one_task() -> None:
    other = Process(40, 700, "python3", EXECUTOR.argv, 1, ALLOC)
    assert "has 1 live tasks and 2 executors (20, 40)" in judged(census(), look(EXECUTOR, other))[1]


def test_a_live_task_without_an_executor_where_its_driver_has_them() -> None:
    later = Census(30, census().tasks)
    events = (census(), look(EXECUTOR, TASK), later, look(t=31))
    assert "has 1 live tasks and 0 executors (none)" in judged(*events)[1]


def test_a_driver_without_executors_needs_none() -> None:
    assert judged(census(driver="docker"), look())[0] is Outcome.VALID


def test_a_task_that_lives_on_without_the_executor_that_started_it() -> None:
    orphan = Process(21, 501, "sleep", "sleep 60", 1, ALLOC, "writer")
    assert (
        "process 21 of allocation 0b8e12ab lives on without an executor"
        in judged(census(driver="raw_exec"), look(NOMADS, orphan))[1]
    )


def test_a_task_that_became_a_daemon_of_its_own_is_no_orphan() -> None:
    daemon = Process(31, 601, "sleep", "sleep 60", 1, ALLOC, "writer")
    assert judged(census(driver="raw_exec"), look(NOMADS, daemon))[0] is Outcome.VALID


def test_an_executor_of_an_allocation_that_is_over() -> None:
    left = look(EXECUTOR, settled=True, t=21)
    assert judged(books("running"), left)[0] is Outcome.VALID
    assert "executor 20 of allocation 0b8e12ab, which is over, was left" in judged(books("complete"), left)[1]


def test_what_is_no_executor() -> None:
    logmon = Process(50, 800, "nomad", "/bin/nomad logmon", 9, ALLOC)
    asks = Process(51, 801, "sh", "sh -c executor --help", 9, ALLOC, "writer")
    assert not logmon.is_executor
    assert not asks.is_executor
    assert NOMADS.is_executor


def test_tasks_that_were_begun_after_a_count_are_not_in_it() -> None:
    another = Operation(12, "start", "task2", 13)
    assert judged(census(), look(EXECUTOR, TASK), another, look(t=14))[0] is Outcome.VALID
    assert judged(census(), another, look(t=14))[0] is Outcome.UNKNOWN
