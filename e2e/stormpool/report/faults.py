"""Faults, as spans on the timeline and as a table: planned, injected, healed, failed."""

from __future__ import annotations

from dataclasses import dataclass

from stormpool.events import Fault
from stormpool.history import History
from stormpool.report.span import RUN, Span


@dataclass(frozen=True)
class Told:
    """One planned fault and what became of it; times are nanoseconds since the run began, None is never."""

    name: str
    subject: str
    moment: str  # the phase and the call that set it off
    injected: int | None
    healed: int | None
    failed: str  # why, when it did


def faults(history: History, end: int) -> list[Span]:
    """How long each fault lasted: from when it was injected until it was healed."""
    events = history.of(Fault)
    healed = {event.id: event.t for event in events if event.step == "healed"}
    return [
        Span(
            RUN,
            "faults",
            event.t,
            max(event.t, healed.get(event.id, end)),
            f"{event.name} {event.subject}",
            "fault",
            f"{event.name}: {event.subject}" + (f", {_moment(event)}" if event.rpc else ""),
            outcome="healed" if event.id in healed else "not healed",
        )
        for event in events
        if event.step == "injected"
    ]


def table(history: History) -> list[Told]:
    """Every fault that was planned, in the order of the plan."""
    by_id: dict[int, list[Fault]] = {}
    for event in history.of(Fault):
        by_id.setdefault(event.id, []).append(event)
    return [_told(steps) for _, steps in sorted(by_id.items())]


def _told(steps: list[Fault]) -> Told:
    at = {event.step: event.t for event in steps}
    shown = next((event for event in steps if event.step == "injected"), steps[-1])
    failed = next((event.why for event in steps if event.step == "failed"), "")
    return Told(shown.name, shown.subject, _moment(shown), at.get("injected"), at.get("healed"), failed)


def _moment(event: Fault) -> str:
    return f"{event.phase} call {event.rpc}" if event.rpc else event.phase
