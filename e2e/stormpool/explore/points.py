"""Every point at which a fault can hit a run: each call of a fault-free run, each phase of it, each fault.

Points that would show the same are folded: calls are told apart by their method and by which one of that
method it is in its volume's or its task's life, not by the volume, the node or the order among volumes; for
workloads treat all their volumes alike, and where an allocation is placed is chance. The first call of each
such kind stands for the others. And of the phases, only those are kept at which a fault does something else
than at another one (`Fault.phases`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random
from typing import Any

import msgspec

from stormpool.events import Call
from stormpool.events import Phase as RunPhase
from stormpool.history import ASKING, History
from stormpool.nemesis import OnCall, Pattern, Phase, Plan, Planned


class Breaking(msgspec.Struct, frozen=True):
    """A fault to try at every point, and when it is healed."""

    fault: Any
    heal_after: float | None = None


class Point(msgspec.Struct, frozen=True):
    """One place in a run, and what breaks there; or two."""

    planned: tuple[Planned, ...]
    stands_for: int = 1  # points of the run that would show the same

    @property
    def name(self) -> str:
        """The point in words: unique among those of a run."""
        return " + ".join(_told(each) for each in self.planned)

    def added_to(self, plan: Plan) -> Plan:
        """A plan with this happening as well."""
        return plan + Plan(self.planned)


def points(history: History, breaking: Sequence[Breaking]) -> list[Point]:
    """The points of a fault-free run, in the order in which the run comes to them."""
    found: dict[tuple[str, int], tuple[Pattern, int]] = {}
    alike: Counter[tuple[str, int]] = Counter()
    lives: Counter[tuple[str, str]] = Counter()
    made: Counter[str] = Counter()
    for call in _calls(history):
        about = call.volume or call.task
        lives[call.method, about] += 1
        made[call.method] += 1
        kind = (call.method, lives[call.method, about])
        alike[kind] += 1
        # A task has another id in each run: its calls are told by their number among all of their method.
        nth = kind[1] if call.volume else made[call.method]
        found.setdefault(kind, (Pattern(call.method, call.volume), nth))
    return [
        Point((Planned(OnCall(pattern, nth, phase), each.fault, each.heal_after),), alike[kind])
        for kind, (pattern, nth) in found.items()
        for phase in Phase
        for each in breaking
        if phase in each.fault.phases
    ]


def pairs(single: Sequence[Point], seed: int) -> list[Point]:
    """Two points at once, each pair of different calls, in an order by the seed: there are many."""
    found = [
        Point((*first.planned, *second.planned))
        for first, second in combinations(single, 2)
        if _call(first) != _call(second)
    ]
    Random(seed).shuffle(found)
    return found


def _call(point: Point) -> tuple[Pattern, int] | None:
    when = point.planned[0].when
    return (when.pattern, when.nth) if isinstance(when, OnCall) else None


def methods(some: Iterable[Point]) -> list[str]:
    """The methods that points are about, in their order."""
    triggers = (each.planned[0].when for each in some)
    return list(dict.fromkeys(when.pattern.method for when in triggers if isinstance(when, OnCall)))


def _calls(history: History) -> list[Call]:
    """The calls that change something, between the begin of the first workload and its end."""
    phases = {event.name: event.t for event in reversed(history.of(RunPhase))}
    begin, end = phases.get("workload", 0), phases.get("heal", 0)
    return [
        call
        for call in history.of(Call)
        if begin <= call.t < end and not any(word in call.method for word in ASKING)
    ]


def _told(planned: Planned) -> str:
    when = planned.when
    if not isinstance(when, OnCall):
        return f"{planned.fault} at {when.seconds:g} s"
    of = f" of {when.pattern.volume}" if when.pattern.volume else ""
    return f"{planned.fault} {when.phase} {when.pattern.method}#{when.nth}{of}"
