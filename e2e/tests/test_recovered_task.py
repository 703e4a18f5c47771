"""A task goes on when one process of it is there in every look, and there is no second beside it."""

from typing import Any

from msgspec import structs

from stormpool import guarantees
from stormpool.events import SECOND, Observed, Operation, Process
from stormpool.history import History
from stormpool.verdict import Outcome, Verdict


def seen(t: int, *processes: tuple[int, int]) -> Observed:
    """A look at the task's processes: pid and parent; each was started at ten times its pid."""
    running = [
        Process(pid, pid * 10, "sh", parent=parent, alloc="alloc", task="writer", writes=["tank/vol1"])
        for pid, parent in processes
    ]
    return Observed(t * SECOND, "client1", processes=running)


def judge(*looks: Observed) -> Verdict:
    return guarantees.recovered_task_is_the_same(History(to_go_on(*looks)))


def to_go_on(*looks: Observed) -> list[Any]:
    """What happens to a task that is to go on."""
    first = Operation(0, "attach", "vol1", SECOND, "alloc", "client1")
    last = Operation(20 * SECOND, "run", "vol1", 21 * SECOND, "alloc", "client1")
    return [first, *looks, last]


def test_what_a_task_starts_and_ends_is_its_own_affair() -> None:
    assert (
        judge(seen(2, (10, 1)), seen(3, (10, 1), (11, 10)), seen(4, (10, 1), (12, 10))).outcome
        is Outcome.VALID
    )


def test_a_task_that_is_started_anew_in_its_allocation() -> None:
    verdict = judge(seen(2, (10, 1)), seen(3, (77, 1)))
    assert verdict.outcome is Outcome.INVALID
    assert "had been started anew at 3.000 s" in verdict.witnesses[0].what


def test_a_task_that_is_doubled_in_its_allocation() -> None:
    verdict = judge(seen(2, (10, 1)), seen(3, (10, 1), (77, 1)))
    assert "was there twice at 3.000 s" in verdict.witnesses[0].what


def test_a_task_that_had_stopped() -> None:
    assert "had stopped at 3.000 s" in judge(seen(2, (10, 1)), seen(3)).witnesses[0].what


def all_there_is(t: int, *processes: tuple[int, int]) -> Observed:
    """A look at everything: an executor, and a task that has no file system of its own."""
    running = [Process(pid, pid * 10, "sh", "sh", parent, "alloc", "writer") for pid, parent in processes]
    executor = Process(9, 90, "python", "python -m zfs_driver executor", 1, "alloc")
    return Observed(t * SECOND, "client1", processes=[executor, *running], whole=True)


def test_a_task_without_a_file_system_of_its_own() -> None:
    assert judge(all_there_is(2, (10, 9)), all_there_is(22, (10, 9))).outcome is Outcome.VALID
    verdict = judge(all_there_is(2, (10, 9)), all_there_is(22, (77, 9)))
    assert "had been started anew at 22.000 s" in verdict.witnesses[0].what
    elsewhere = seen(3)  # of tasks that have one: nothing of this one
    assert judge(all_there_is(2, (10, 9)), elsewhere, all_there_is(22, (10, 9))).outcome is Outcome.VALID


def test_nothing_is_known_of_a_task_that_was_not_looked_at_twice() -> None:
    assert judge().outcome is Outcome.UNKNOWN
    assert judge(seen(2, (10, 1))).outcome is Outcome.UNKNOWN


def test_a_task_that_was_stopped_is_over() -> None:
    stopped = Operation(22 * SECOND, "stop", "vol1", 23 * SECOND)
    first, *others = (seen(t, (10, 1)) for t in (2, 3, 21))
    after = seen(24)
    history = History([*to_go_on(first, *others), stopped, after])
    assert guarantees.recovered_task_is_the_same(history).outcome is Outcome.VALID


def test_jobs_of_one_name_in_two_acts_are_two() -> None:
    again = [
        structs.replace(each, t=each.t + 60 * SECOND, ended=each.ended + 60 * SECOND, alloc="other")
        for each in to_go_on()
    ]
    history = History([*to_go_on(seen(2, (10, 1)), seen(3, (10, 1))), *again])
    assert guarantees.recovered_task_is_the_same(history).outcome is Outcome.VALID
