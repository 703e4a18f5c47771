"""What a checker says: valid, invalid or unknown, with witnesses; and what several of them come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec
from msgspec import structs

from stormpool.events import SECOND, Fault
from stormpool.history import History


class Outcome(StrEnum):
    """Valid: held wherever it was tried. Invalid: broken, with a witness. Unknown: could not be judged."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


_WORST_FIRST = (Outcome.INVALID, Outcome.UNKNOWN, Outcome.VALID)


class Witness(msgspec.Struct, frozen=True):
    """One breach: what happened, in a sentence, and where to look."""

    what: str
    start: int  # nanoseconds since the run began
    end: int
    nodes: list[str] = []
    rpcs: list[str] = []  # ids of the calls concerned


class Verdict(msgspec.Struct, frozen=True):
    """What came of judging one guarantee."""

    guarantee: str
    statement: str  # what is guaranteed, in the checker's own words
    outcome: Outcome
    why: str  # one sentence
    judged: int = 0  # how many things were looked at
    broken: int = 0  # how many of them broke it
    witnesses: list[Witness] = []  # the first of them
    apart: list[str] = []  # seen, and told apart, for it does not break the guarantee


MOST_WITNESSES = 5


class Guarantee:
    """A named checker: a pure function of the history, whose docstring is what is guaranteed."""

    def __init__(self, name: str, check: Callable[[History], Verdict]) -> None:
        self.name = name
        self.check = check
        self.statement = " ".join((check.__doc__ or "").split("\n\n")[0].split())

    def __call__(self, history: History) -> Verdict:
        """Judge a history; what held though a fault that was planned never happened has not been tried."""
        verdict, missed = self.check(history), never_happened(history)
        if verdict.outcome is Outcome.VALID and missed:
            why = f"{', '.join(missed)} was planned and never happened; else it {verdict.why}"
            return structs.replace(verdict, outcome=Outcome.UNKNOWN, why=why)
        return verdict

    def __repr__(self) -> str:
        return f"<guarantee {self.name!r}>"

    def found(
        self,
        judged: int,
        witnesses: list[Witness],
        *,
        nothing: str,
        apart: Iterable[str] = (),
        unseen: Iterable[str] = (),
    ) -> Verdict:
        """The verdict on what was found.

        `nothing` says what was missing when nothing could be judged; `unseen`, each in a sentence, what was
        not to be seen that could have broken it.
        """
        missing = "; ".join(unseen)
        held = f"held all {judged} times it was tried"
        if witnesses:
            outcome, why = Outcome.INVALID, witnesses[0].what
        elif judged == 0:
            outcome, why = Outcome.UNKNOWN, f"nothing to judge: {missing or nothing}"
        elif missing:
            outcome, why = Outcome.UNKNOWN, f"{missing}; else it {held}"
        else:
            outcome, why = Outcome.VALID, held
        return Verdict(
            guarantee=self.name,
            statement=self.statement,
            outcome=outcome,
            why=why,
            judged=judged,
            broken=len(witnesses),
            witnesses=witnesses[:MOST_WITNESSES],
            apart=list(apart),
        )


def never_happened(history: History) -> list[str]:
    """The faults that were to happen and did not, each by its name and why if that is known."""
    faults = history.of(Fault)
    injected = {event.id for event in faults if event.step == "injected"}
    failed = {event.id: f" ({event.why})" for event in faults if event.step == "failed"}
    return [
        f"fault {event.id} {event.name}{failed.get(event.id, '')}"
        for event in faults
        if event.step == "planned" and not event.optional and event.id not in injected
    ]


def guarantee(name: str) -> Callable[[Callable[[History], Verdict]], Guarantee]:
    """Make a checker a guarantee of that name."""
    return lambda check: Guarantee(name, check)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """What several verdicts come to; of none, unknown."""
    seen = set(outcomes)
    return next((outcome for outcome in _WORST_FIRST if outcome in seen), Outcome.UNKNOWN)


def seconds(t: int) -> str:
    """A time of a history, for people."""
    return f"{t / SECOND:.3f} s"
