"""Runs rules on a bench, one after another; each finds it clean, or a new one if it was ruined."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from stormpool.conform.results import Outcome, Result
from stormpool.conform.rule import Broken, Cases, NotOffered, Rule


class Tidied(Protocol):
    """What rules are run on."""

    ruined: bool  # whether no rule can be judged on it any more

    def tidy(self) -> list[str]:
        """Undo what a rule left, and say what that was; nothing where it left nothing."""


Bench = TypeVar("Bench", bound=Tidied)


def run(
    rules: Sequence[Rule[Bench]],
    set_up: Callable[[], AbstractContextManager[Bench]],
    told: Callable[[str], object] = lambda _: None,
) -> Generator[Result]:
    """What comes of each rule, as it comes; `told` hears which is being judged."""
    left = deque(rules)
    while left:
        with set_up() as bench:
            while left and not bench.ruined:
                told(f"{len(rules) - len(left) + 1} of {len(rules)}: {left[0].name}")
                yield from judged(left.popleft(), bench)


def judged(rule: Rule[Bench], bench: Bench) -> Iterator[Result]:
    """What comes of one rule, or of each case of those that another program judges."""
    if isinstance(rule, Cases):
        yield from _cases(rule, bench)
    else:
        yield judge(rule, bench)


def judge(rule: Rule[Bench], bench: Bench) -> Result:
    """Judge one rule, and tidy up after it."""
    began = time.monotonic()
    outcome, words = _checked(rule, bench)
    words = "\n".join([word for word in (words, _tidied(bench)) if word])
    spent = round(time.monotonic() - began, 3)
    return Result(rule.name, rule.statement, rule.source, outcome, spent, words)


def _cases(rule: Cases[Bench], bench: Bench) -> Iterator[Result]:
    """What came of each of a program's cases; one that says why, where it could not be run."""
    began = time.monotonic()
    try:
        yield from rule.judged(bench)
    except Exception as error:
        spent = round(time.monotonic() - began, 3)
        outcome, words = _came_to(error)
        yield Result(rule.name, rule.statement, rule.source, outcome, spent, words)
    _tidied(bench)


def _tidied(bench: Tidied) -> str:
    """What a rule left behind, for the result to tell."""
    try:
        left = bench.tidy()
    except Exception as error:  # the next rule may find the bench unclean: that is told of
        left = [f"could not be tidied: {_said(error)}"]
    return f"left behind: {', '.join(left)}" if left else ""


def _checked(rule: Rule[Bench], bench: Bench) -> tuple[Outcome, str]:
    try:
        return Outcome.PASSED, rule.check(bench) or ""
    except Exception as error:  # whatever kept it from being judged, it is no pass
        return _came_to(error)


def _came_to(error: Exception) -> tuple[Outcome, str]:
    """What a rule that raised an error came to, with the words that tell why."""
    match error:
        case Broken():
            return Outcome.BROKEN, str(error)
        case NotOffered():
            return Outcome.NOT_OFFERED, str(error)
        case _:
            return Outcome.NOT_JUDGED, _said(error)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
