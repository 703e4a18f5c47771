"""What is told of a task's end is held against what the task had said it would end with."""

import pytest

from stormpool.checkers.exit_status import exit_status
from stormpool.counting import last_words
from stormpool.events import Ended
from stormpool.history import History
from stormpool.verdict import Outcome, Verdict


def judged(told: list[tuple[int, int]], said: list[int]) -> Verdict:
    return exit_status(History([Ended(10, "0b8e12ab-1111", "writer", "client1", told, said)]))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ([(7, 0)], [7]),
        ([(0, 0)], [0]),
        ([(137, 9)], [-1]),
        ([(-1, 0)], [-1]),
        ([(137, 9), (0, 0)], [-1, 0]),
    ],
)
def test_what_was_told_is_what_was(told: list[tuple[int, int]], said: list[int]) -> None:
    assert judged(told, said).outcome is Outcome.VALID


@pytest.mark.parametrize(
    ("told", "said", "why"),
    [
        ([(0, 0)], [7], "ended its life 1 with code 7, and code 0 was told"),
        ([(7, 9)], [7], "ended its life 1 with code 7, and code 7 and signal 9 was told"),
        ([(0, 0)], [-1], "was killed in its life 1, and code 0 was told"),
        ([(137, 9), (1, 0)], [-1, 0], "ended its life 2 with code 0, and code 1 was told"),
    ],
)
def test_what_was_told_is_not_what_was(told: list[tuple[int, int]], said: list[int], why: str) -> None:
    verdict = judged(told, said)
    assert verdict.outcome is Outcome.INVALID
    assert why in verdict.why


def test_ends_that_cannot_be_told_apart_are_not_judged() -> None:
    verdict = judged([(0, 0)], [-1, 0])
    assert verdict.outcome is Outcome.UNKNOWN
    assert "as many ends were told as it had lives" in verdict.why
    assert verdict.apart == [
        "task writer of allocation 0b8e12ab on client1 had 2 lives, and 1 ends were told"
    ]


def test_last_words() -> None:
    assert last_words("begins\nends with 7\n") == [7]
    assert last_words("begins\nbegins\nsomething\nends with 0") == [-1, 0]
    assert last_words("") == []
