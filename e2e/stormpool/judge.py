"""Judging a run: the verdicts go into its directory, and a test fails on those that do not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stormpool.events import Event
from stormpool.history import History
from stormpool.run import Judged
from stormpool.store import RunDirectory
from stormpool.verdict import Guarantee, Outcome, Verdict


class GuaranteeBroken(AssertionError):
    """A guarantee was broken; says which, and the first breaches."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        told = list(verdicts)
        super().__init__("\n".join(map(told_of, told)))
        self.guarantees = frozenset(each.guarantee for each in told if each.outcome is Outcome.INVALID)


class NotJudged(AssertionError):
    """A guarantee could not be judged, which is no pass."""


def judge(directory: RunDirectory, history: History, guarantees: Iterable[Guarantee]) -> Judged:
    """Judge a history and write the verdicts into its run, in place of earlier ones of the same name."""
    earlier = directory.judged()
    kept: dict[str, Verdict] = {each.guarantee: each for each in (earlier.verdicts if earlier else [])}
    kept.update({each.name: each(history) for each in guarantees})
    return directory.write_verdicts(list(kept.values()))


def must_hold(verdicts: Sequence[Verdict]) -> None:
    """Raise unless every verdict is valid."""
    __tracebackhide__ = True
    having = {outcome: [each for each in verdicts if each.outcome is outcome] for outcome in Outcome}
    if having[Outcome.INVALID]:
        raise GuaranteeBroken([*having[Outcome.INVALID], *having[Outcome.UNKNOWN]])
    if having[Outcome.UNKNOWN]:
        raise NotJudged("\n".join(map(told_of, having[Outcome.UNKNOWN])))


def told_of(verdict: Verdict) -> str:
    """A verdict for people: what was broken, how often, and the first breaches."""
    if verdict.outcome is Outcome.VALID:
        return f"held *{verdict.guarantee}*: {verdict.why}"
    if verdict.outcome is Outcome.UNKNOWN:
        return f"could not judge *{verdict.guarantee}*: {verdict.why}"
    lines = [f"broke *{verdict.guarantee}* {verdict.broken} times in {verdict.judged}:"]
    return "\n".join([*lines, *(f"  {witness.what}" for witness in verdict.witnesses)])


class RunHistory(History):
    """The history of a run that can still be judged into its directory."""

    def __init__(self, events: Iterable[Event], directory: RunDirectory) -> None:
        super().__init__(events)
        self._directory = directory

    def must_satisfy(self, *guarantees: Guarantee) -> None:
        """Judge the guarantees, write the verdicts into the run, and fail unless every one held.

        Raises `GuaranteeBroken` when one was broken, `NotJudged` when one could not be judged.
        """
        __tracebackhide__ = True
        judged = judge(self._directory, self, guarantees)
        mine = {each.name for each in guarantees}
        must_hold([verdict for verdict in judged.verdicts if verdict.guarantee in mine])
