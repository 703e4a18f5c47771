"""A history as something to draw: lanes with spans on them. Pure; knows neither HTML nor colours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from stormpool.events import Fault, Leader, Operation, Phase
from stormpool.history import History
from stormpool.report.calls import calls
from stormpool.report.claims import claims
from stormpool.report.faults import faults
from stormpool.report.nodes import nodes
from stormpool.report.span import RUN, VOLUMES, Span
from stormpool.verdict import Outcome, Verdict

ROWS = 8  # of spans in a lane at most, where they overlap
LANES = ("faults", "leader", "status", "controller calls", "node calls", "tasks")  # their order in a group
GROUPS = (RUN, VOLUMES)  # above those of the nodes


@dataclass(frozen=True)
class Lane:
    """One line of the picture."""

    group: str
    name: str
    rows: int  # how many spans stand below each other


@dataclass(frozen=True)
class Breach:
    """One witness of a broken guarantee, and where its calls are among the spans."""

    guarantee: str
    what: str
    start: int  # nanoseconds since the run began
    end: int
    nodes: tuple[str, ...] = ()
    spans: tuple[int, ...] = ()


@dataclass(frozen=True)
class Timeline:
    """All there is to draw; spans in the order of their starts, the row of each beside it."""

    lanes: list[Lane]
    spans: list[Span]
    rows: list[int]
    phases: list[tuple[int, str]]
    end: int
    breaches: list[Breach] = field(default_factory=list)
    moments: list[tuple[int, str]] = field(default_factory=list)  # when a fault was injected, and what it was

    @property
    def marked(self) -> frozenset[int]:
        """The spans that are calls of a breach."""
        return frozenset(number for breach in self.breaches for number in breach.spans)


def timeline(history: History, verdicts: Iterable[Verdict]) -> Timeline:
    """Lay a history out: what is the run's, the volumes' lives, then each node's."""
    end = max(
        [*(event.t for event in history.events[-1:]), *(event.ended for event in history.of(Operation))],
        default=0,
    )
    spans = [
        *_terms(history, end),
        *faults(history, end),
        *claims(history, end),
        *calls(history, end),
        *nodes(history, end),
    ]
    spans.sort(key=lambda span: (span.start, span.end))
    rows = in_rows(spans, ROWS)
    return Timeline(
        lanes=_lanes(spans, rows),
        spans=spans,
        rows=rows,
        phases=[(event.t, event.name) for event in history.of(Phase)],
        end=end,
        breaches=breaches(verdicts, spans),
        moments=[(event.t, event.name) for event in history.of(Fault) if event.step == "injected"],
    )


def breaches(verdicts: Iterable[Verdict], spans: list[Span]) -> list[Breach]:
    """Every witness, the first in time first."""
    numbers: dict[str, list[int]] = {}
    for number, span in enumerate(spans):
        if span.id:
            numbers.setdefault(span.id, []).append(number)
    found = [
        Breach(
            verdict.guarantee,
            witness.what,
            witness.start,
            witness.end,
            tuple(witness.nodes),
            tuple(number for rpc in witness.rpcs for number in numbers.get(rpc, ())),
        )
        for verdict in verdicts
        if verdict.outcome is Outcome.INVALID
        for witness in verdict.witnesses
    ]
    return sorted(found, key=lambda breach: (breach.start, breach.end))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that puts client2 before client10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"([0-9]+)", name)]


def _terms(history: History, end: int) -> list[Span]:
    elected = history.of(Leader)
    ends = [*(event.t for event in elected[1:]), end]
    return [
        Span(RUN, "leader", event.t, max(event.t, until), f"{event.node}, term {event.term}", "leader", told)
        for event, until in zip(elected, ends, strict=False)
        if (told := f"{event.node} led, term {event.term}")
    ]


def in_rows(spans: list[Span], most: int) -> list[int]:
    """The row of its lane for each span, so that those at once stand below each other.

    Spans come in the order of their starts; past `most` rows the last one takes all.
    """
    free: dict[tuple[str, str], list[int]] = {}
    rows = []
    for span in spans:
        until = free.setdefault((span.group, span.lane), [])
        row = next((number for number, end in enumerate(until) if end <= span.start), len(until))
        if row == len(until) and row < most:
            until.append(span.end)
        row = min(row, most - 1)
        until[row] = max(until[row], span.end)
        rows.append(row)
    return rows


def _lanes(spans: list[Span], rows: list[int]) -> list[Lane]:
    deep: dict[tuple[str, str], int] = {}
    for span, row in zip(spans, rows, strict=True):
        key = (span.group, span.lane)
        deep[key] = max(deep.get(key, 1), row + 1)
    return [Lane(group, name, deep[group, name]) for group, name in sorted(deep, key=_place)]


def _place(lane: tuple[str, str]) -> tuple[int, list[tuple[int, int, str]], int, list[tuple[int, int, str]]]:
    group, name = lane
    above = GROUPS.index(group) if group in GROUPS else len(GROUPS)
    known = LANES.index(name) if name in LANES else len(LANES)
    return above, natural(group), known, natural(name)
