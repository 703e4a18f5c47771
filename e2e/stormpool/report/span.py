"""One thing of a run that lasted, and the lane it is drawn in."""

from __future__ import annotations

from dataclasses import dataclass

RUN, VOLUMES = "run", "volumes"  # groups of lanes that are no node's


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasted."""

    group: str  # a node, or one of the groups above
    lane: str
    start: int  # nanoseconds since the run began
    end: int
    label: str
    kind: str  # what it is, for its colour: a method, "task", "leader"
    told: str  # the whole of it, for whoever points at it
    outcome: str = ""  # what came of it
    bad: bool = False  # whether that was no good
    more: str = ""  # what else is known of it
    id: str = ""  # of the call


def within(start: int, end: int, last: int) -> tuple[int, int]:
    """A time that may have no end yet, cut where the run ends."""
    return start, max(start, min(end, last))
