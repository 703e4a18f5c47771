"""Volumes, as spans: being attached, claimed by an allocation, being detached.

What is known of a claim is what the workload saw: it is held once the task runs, and free when the servers
show none. What they still hold once all has settled is told by their books.
"""

from __future__ import annotations

from itertools import pairwise

from stormpool.events import Books, Operation
from stormpool.history import History
from stormpool.report.span import VOLUMES, Span, within


def claims(history: History, end: int) -> list[Span]:
    """The lives of all volumes; `end` is where a claim that was never given up is cut."""
    by_volume: dict[str, list[Operation]] = {}
    for event in history.of(Operation):
        by_volume.setdefault(event.subject, []).append(event)
    spans = [_operation(event) for event in history.of(Operation)]
    for volume, done in by_volume.items():
        spans += _held(volume, done, end)
    return spans + _still_claimed(history, end)


def _operation(event: Operation) -> Span:
    where = f" on {event.node}" if event.node else ""
    told = f"{event.name} of {event.subject}{where}" + (f", allocation {event.alloc}" if event.alloc else "")
    return Span(
        group=VOLUMES,
        lane=event.subject,
        start=event.t,
        end=max(event.t, event.ended),
        label=event.name + where,
        kind=event.name,
        told=told,
        outcome=event.error or "done",
        bad=bool(event.error),
    )


def _held(volume: str, done: list[Operation], end: int) -> list[Span]:
    """From when an attachment stood until what was done next with the volume."""
    return [
        _claim(volume, event, *within(event.ended, end if after is None else after.t, end))
        for event, after in pairwise([*done, None])
        if event is not None and event.name == "attach" and not event.error
    ]


def _claim(volume: str, event: Operation, start: int, end: int) -> Span:
    told = f"{volume} claimed by allocation {event.alloc} on {event.node}"
    label = f"{event.alloc[:8]} on {event.node}"
    return Span(VOLUMES, volume, start, end, label, "claim", told)


def _still_claimed(history: History, end: int) -> list[Span]:
    books = history.of(Books)[-1:]
    return [
        Span(
            VOLUMES,
            volume,
            last.t,
            end,
            f"still claimed by {alloc[:8]}",
            "claim",
            f"{volume} still claimed by allocation {alloc} once all had settled, by the servers' word",
            outcome="still claimed",
            bad=True,
        )
        for last in books
        for volume, allocs in last.claims.items()
        for alloc in allocs
    ]
