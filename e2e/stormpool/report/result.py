"""What a test report is told of a run: suite, severity, steps, parameters, properties; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from stormpool.events import Phase
from stormpool.history import History
from stormpool.report.plain import plain
from stormpool.run import About
from stormpool.verdict import Outcome, Verdict

LOSES_DATA = frozenset({"one writer a volume", "no acknowledged write is lost"})  # or data is lost
AFTER = frozenset({"down", "done"})  # phases that come however the run went
MILLISECOND = 1_000_000  # in a history's unit of time


class Severity(StrEnum):
    """How bad it is what a run has shown, in Allure's words.

    Blocker: data can be lost. Critical: another guarantee is broken. Normal: it could not be judged, or the
    run did not finish. Minor: every guarantee held.
    """

    BLOCKER = "blocker"
    CRITICAL = "critical"
    NORMAL = "normal"
    MINOR = "minor"


@dataclass(frozen=True)
class Step:
    """One phase of a run. Times are milliseconds of the wall clock."""

    name: str
    start: int
    stop: int
    well: bool


@dataclass(frozen=True)
class Result:
    """What a test report is told."""

    suite: str  # the scenario's folder
    severity: Severity
    steps: tuple[Step, ...]
    parameters: tuple[tuple[str, str], ...]  # versions and seed
    properties: tuple[tuple[str, str], ...]  # every guarantee and what it came to


def result(about: About, history: History, verdicts: list[Verdict]) -> Result:
    """What a run came to."""
    folders = about.scenario.partition("::")[0].split("/")[:-1]
    shown = {**about.versions, "seed": str(about.seed)}
    return Result(
        suite=plain(folders[-1]) if folders else "scenarios",
        severity=severity(about, verdicts),
        steps=_steps(about, history),
        parameters=tuple({name: plain(value) for name, value in shown.items()}.items()),
        properties=tuple((verdict.guarantee, str(verdict.outcome)) for verdict in verdicts),
    )


def severity(about: About, verdicts: list[Verdict]) -> Severity:
    """How bad it is."""
    broken = {verdict.guarantee for verdict in verdicts if verdict.outcome is Outcome.INVALID}
    if broken & LOSES_DATA:
        return Severity.BLOCKER
    if broken:
        return Severity.CRITICAL
    held = bool(verdicts) and all(verdict.outcome is Outcome.VALID for verdict in verdicts)
    return Severity.MINOR if held and not about.error else Severity.NORMAL


def _steps(about: About, history: History) -> tuple[Step, ...]:
    """The phases with their times; the one that an error ended is not well."""
    phases = history.of(Phase)
    acting = [phase for phase in phases if phase.name not in AFTER]
    failed = acting[-1] if acting and about.error else None
    return tuple(
        Step(
            plain(phase.name),
            (about.began_wall + phase.t) // MILLISECOND,
            (about.began_wall + after.t) // MILLISECOND,
            phase is not failed,
        )
        for phase, after in pairwise(phases)
    )
