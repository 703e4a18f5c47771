"""When faults happen: a plan of triggers, each with a fault; frozen, printable, the same for the same seed.

    nemesis.on(rpc("ControllerPublishVolume").nth(3).answered, faults.KillAgent(target.holder("vol1")))
    nemesis.at(2.5, faults.KillAgent(target.leader()))
    nemesis.at_random(7, {faults.KillAgent(target.one()): 2, faults.CollectGarbage(): 1}, count=5, within=20)

A trigger on a call is exact: the call stops in the tap at that point, the fault is injected, the call goes
on. At a time no call is there: what is about one, or aims at the node that serves it, is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import Any

import msgspec

from stormpool.errors import Misuse
from stormpool.events import SECOND, Call
from stormpool.pace import Seconds


class Phase(StrEnum):
    """Where in a call."""

    BEFORE = "before"  # its request was read from the caller, and the plugin has not got it
    DURING = "during"  # the plugin has it, and its answer is held
    AFTER = "after"  # the plugin has answered, and the caller has not heard it


class Pattern(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which calls: by method, and where given by volume, by the node the plugin runs on, by plugin."""

    method: str
    volume: str = ""
    node: str = ""
    plugin: str = ""

    def matches(self, call: Call) -> bool:
        """Whether a call is one of these."""
        wanted = ((self.volume, call.volume), (self.node, call.node), (self.plugin, call.plugin))
        return call.method == self.method and all(asked in ("", has) for asked, has in wanted)


EVERY = -1  # as the number of a call: each that matches


class OnCall(msgspec.Struct, frozen=True, tag="on_call", omit_defaults=True):
    """The n-th call that matches, at a phase; or every one."""

    pattern: Pattern
    nth: int
    phase: Phase
    within: Seconds | None = None  # seconds after the workload began; a later call sets nothing off
    later: Seconds = 0.0  # seconds from that point on: the call does not wait for them

    def __post_init__(self) -> None:
        """Refuse what never happens."""
        if self.nth < 1 and self.nth != EVERY:
            raise Misuse(f"the {self.nth}th call", fix="calls are counted from 1")


class AtTime(msgspec.Struct, frozen=True, tag="at_time"):
    """So many seconds after the workload began."""

    seconds: Seconds


Trigger = OnCall | AtTime


class Matching(msgspec.Struct, frozen=True):
    """The n-th of some calls, still without a phase."""

    pattern: Pattern
    count: int = 1
    seconds: float | None = None

    def nth(self, count: int) -> Matching:
        """The n-th of them, counted from 1, over all instances of the plugin."""
        return Matching(self.pattern, count, self.seconds)

    def within(self, seconds: float) -> Matching:
        """Those that come within so many seconds of the workload's begin."""
        return Matching(self.pattern, self.count, seconds)

    @property
    def every(self) -> Matching:
        """Each of them."""
        return Matching(self.pattern, EVERY, self.seconds)

    @property
    def before(self) -> OnCall:
        """Its request was read, and the plugin has not got it."""
        return OnCall(self.pattern, self.count, Phase.BEFORE, self.seconds)

    @property
    def during(self) -> OnCall:
        """The plugin has it, and its answer is held until the fault is injected."""
        return OnCall(self.pattern, self.count, Phase.DURING, self.seconds)

    @property
    def answered(self) -> OnCall:
        """The plugin has answered, and the caller has not heard it."""
        return OnCall(self.pattern, self.count, Phase.AFTER, self.seconds)


def rpc(method: str, *, volume: str = "", node: str = "", plugin: str = "") -> Matching:
    """Calls of a method, without its service: `ControllerPublishVolume`."""
    return Matching(Pattern(method, volume, node, plugin))


class Planned(msgspec.Struct, frozen=True):
    """One fault and when it happens; healed so many seconds later, or when the workload is over."""

    when: Trigger
    fault: Any
    heal_after: Seconds | None = None
    optional: bool = False  # a run in which it does not happen is judged all the same


class Plan(msgspec.Struct, frozen=True):
    """What is to happen, in no order but that of its triggers."""

    planned: Sequence[Planned] = ()

    def __add__(self, other: Plan) -> Plan:
        return Plan((*self.planned, *other.planned))

    def points(self) -> tuple[OnCall, ...]:
        """Where calls must stop in the taps: what sets faults off, and what faults wait for."""
        triggers = (each.when for each in self.planned if isinstance(each.when, OnCall))
        return (*triggers, *(point for each in self.planned for point in each.fault.awaits()))

    def methods(self) -> frozenset[str]:
        """The methods whose calls must stop."""
        return frozenset(point.pattern.method for point in self.points())


def on(trigger: OnCall, fault: Any, *, heal_after: float | None = None) -> Plan:
    """A fault at a point of a call."""
    return Plan((Planned(trigger, fault, heal_after),))


def at(seconds: float, fault: Any, *, heal_after: float | None = None) -> Plan:
    """A fault so many seconds after the workload began."""
    return Plan((Planned(AtTime(seconds), fault, heal_after),))


def at_random(
    seed: int, faults: Mapping[Any, float], *, count: int, within: float, heal_after: float | None = None
) -> Plan:
    """So many faults at times left to chance, within so many seconds of the workload's begin.

    `faults`: each with its weight. The same seed gives the same plan; it is written down with the run. One
    that cannot be injected when its time comes, or whose time comes too late, is left out.
    """
    chance = Random(seed)
    times = sorted(round(chance.uniform(0, within), 3) for _ in range(count))
    chosen = chance.choices(list(faults), list(faults.values()), k=count)
    return Plan(
        tuple(
            Planned(AtTime(t), fault, heal_after, optional=True)
            for t, fault in zip(times, chosen, strict=True)
        )
    )


class Counting:
    """Which points of a plan a call comes to: it is counted once, when its request is read.

    `began`: when the workload did, in the calls' own time.
    """

    def __init__(self, plan: Plan, began: int = 0) -> None:
        self._began = began
        self._planned = plan.planned
        self._points = frozenset(plan.points())
        self._patterns = {point.pattern for point in self._points}
        self._seen: Counter[Pattern] = Counter()
        self._chosen: dict[str, list[OnCall]] = {}  # call → points that are about it

    def count(self, call: Call) -> None:
        """A call was read from its caller."""
        for pattern in self._patterns:
            self._seen[pattern] += pattern.matches(call)
        mine = [
            point
            for point in self._points
            if point.pattern.matches(call)
            and point.nth in (self._seen[point.pattern], EVERY)
            and (point.within is None or call.t - self._began <= point.within * SECOND)
        ]
        if mine:
            self._chosen[call.id] = mine

    def points(self, call: Call, phase: Phase) -> list[OnCall]:
        """The points about this call at a phase."""
        return [point for point in self._chosen.get(call.id, ()) if point.phase is phase]

    def faults(self, call: Call, phase: Phase) -> list[int]:
        """The planned faults, by number, to inject at a phase of this call."""
        points = self.points(call, phase)
        return [number for number, each in enumerate(self._planned) if each.when in points]
