"""A history in the Trace Event Format, which Perfetto and chrome://tracing open.

The format is Google's "Trace Event Format"
(https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
A process is a node, or one of the timeline's other groups; a thread is a lane, or one row of it, for slices
of one thread must lie within each other. Times are microseconds.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stormpool.events import Fault, Leader, Phase
from stormpool.history import History
from stormpool.report.plain import plain
from stormpool.report.span import RUN, Span
from stormpool.report.timeline import Timeline, in_rows, natural
from stormpool.run import About

MICROSECOND = 1000  # in a history's unit of time
BREACHES = "breaches"  # a lane that only a trace has
Traced = dict[str, Any]
Place = dict[str, int]  # the process and the thread of something


class Places:
    """Which process a group is, and which thread of it a row of a lane."""

    def __init__(self) -> None:
        self._threads: dict[str, dict[str, int]] = {}
        self._processes: dict[str, int] = {}

    def of(self, group: str, lane: str, row: int = 0) -> Place:
        """Where something goes; numbers count from 1."""
        threads = self._threads.setdefault(group, {})
        process = self._processes.setdefault(group, len(self._processes) + 1)
        name = f"{lane} {row + 1}" if row else lane
        return {"pid": process, "tid": threads.setdefault(name, len(threads) + 1)}

    def named(self) -> list[Traced]:
        """The events that give processes and threads their names and order."""
        told = []
        for group, process in self._processes.items():
            told += _metadata("process", group, process, {"pid": process})
            lanes = sorted(self._threads[group], key=natural)
            for order, lane in enumerate(lanes):
                told += _metadata("thread", lane, order, self.of(group, lane))
        return told


def trace(about: About, history: History, drawn: Timeline) -> bytes:
    """The trace of a run, as JSON."""
    places = Places()
    for lane in drawn.lanes:  # first come, first shown
        places.of(lane.group, lane.name)
    spans = [*drawn.spans, *_breaches(drawn)]
    spans.sort(key=lambda span: (span.start, span.end))
    placed = [
        (span, places.of(span.group, span.lane, row))
        for span, row in zip(spans, in_rows(spans, len(spans) + 1), strict=True)
    ]
    events = [_slice(span, place) for span, place in placed]
    events += _flows(history, placed)
    events += _instants(history, places)
    told = {
        "traceEvents": [*places.named(), *sorted(events, key=lambda event: float(event["ts"]))],
        "displayTimeUnit": "ms",
        "otherData": {
            "scenario": plain(about.scenario),
            "seed": str(about.seed),
            "replay": plain(about.replay),
            **{name: plain(version) for name, version in about.versions.items()},
        },
    }
    return msgspec.json.encode(told)


def _metadata(what: str, name: str, order: int, place: Place) -> list[Traced]:
    return [
        {"ph": "M", "name": f"{what}_name", **place, "args": {"name": plain(name)}},
        {"ph": "M", "name": f"{what}_sort_index", **place, "args": {"sort_index": order}},
    ]


def _micro(t: int) -> float:
    return t / MICROSECOND


def _slice(span: Span, place: Place) -> Traced:
    shown = {"told": span.told, "outcome": span.outcome, "more": span.more, "id": span.id}
    name = f"{span.kind} {span.label}" if span.id else span.label
    return {
        "ph": "X",
        "name": plain(name),
        "cat": plain(span.kind),
        "ts": _micro(span.start),
        "dur": _micro(span.end - span.start),
        **place,
        "args": {name: plain(value) for name, value in shown.items() if value},
    }


def _breaches(drawn: Timeline) -> list[Span]:
    return [
        Span(RUN, BREACHES, each.start, each.end, each.guarantee, "breach", each.what)
        for each in drawn.breaches
    ]


def _flows(history: History, placed: list[tuple[Span, Place]]) -> list[Traced]:
    """An arrow between each injected fault and the call that set it off."""
    calls = {span.id: (span, place) for span, place in placed if span.id}
    faults = {span.start: place for span, place in placed if span.kind == "fault"}
    told = []
    for event in history.of(Fault):
        if event.step == "injected" and event.rpc in calls:
            told += _flow(event, faults[event.t], *calls[event.rpc])
    return told


def _flow(event: Fault, fault: Place, call: Span, called: Place) -> list[Traced]:
    """From the fault to its call; where the call was over by then, from the call, for time goes one way."""
    about = {"name": plain(event.name), "cat": "fault", "id": event.id + 1}
    hit = {"ts": _micro(min(max(event.t, call.start), call.end)), **called}
    at = {"ts": _micro(event.t), **fault}
    first, last = (at, hit) if hit["ts"] >= at["ts"] else (hit, at)
    return [{"ph": "s", **about, **first}, {"ph": "f", "bp": "e", **about, **last}]


def _instants(history: History, places: Places) -> list[Traced]:
    """Phases and elections: no time passes in them."""
    run = places.of(RUN, "phases")
    told = [_instant("phase", event.name, event.t, run) for event in history.of(Phase)]
    return told + [
        _instant("leader", f"{event.node} leads, term {event.term}", event.t, places.of(event.node, "leader"))
        for event in history.of(Leader)
    ]


def _instant(kind: str, name: str, t: int, place: Place) -> Traced:
    return {"ph": "i", "s": "g", "name": plain(name), "cat": kind, "ts": _micro(t), **place}
