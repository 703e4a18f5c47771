"""A task goes on when one process of it is there in every look, and there is no second beside it."""

from stormpool import guarantees
from stormpool.history import SECOND, History, Observed, Operation, Process
from stormpool.verdict import Outcome, Verdict


def seen(t: int, *processes: tuple[int, int]) -> Observed:
    """A look at the task's processes: pid and parent; each was started at ten times its pid."""
    running = [
        Process(pid, pid * 10, "sh", parent=parent, alloc="alloc", task="writer", writes=["tank/vol1"])
        for pid, parent in processes
    ]
    return Observed(t * SECOND, "client1", processes=running)


def judge(*looks: Observed) -> Verdict:
    first = Operation(0, "attach", "vol1", SECOND, "alloc", "client1")
    last = Operation(20 * SECOND, "run", "vol1", 21 * SECOND, "alloc", "client1")
    return guarantees.recovered_task_is_the_same(History([first, *looks, last]))


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
