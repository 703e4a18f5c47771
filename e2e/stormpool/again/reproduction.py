"""A run as something to make again: what it broke, its script by protocol events instead of by the clock."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from msgspec import structs

from stormpool import given, outcome
from stormpool.errors import MachineError
from stormpool.events import SECOND, Call, Fault, Reply
from stormpool.events import Phase as RunPhase
from stormpool.history import NEVER, History
from stormpool.nemesis import AtTime, OnCall, Pattern, Phase, Plan, Planned
from stormpool.run import About
from stormpool.script import Script, at_home, decode
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome
from stormpool.workers import story
from stormpool.workers.worker import Done, Order

AT_ONCE = 0.01  # seconds: a fault that came no later was at the call


@dataclass(frozen=True)
class Original:
    """A run that is there, and is to be made again."""

    directory: RunDirectory
    about: About
    nomad: str  # its agent, by version or path
    script: Script  # its faults at the calls at which they happened
    outcome: str  # see `stormpool.outcome`
    broken: frozenset[str]  # guarantees

    @classmethod
    def read(cls, path: Path, scenario: str = "") -> Original:
        """Read it from its directory; `scenario`: where that is now, if not where the run says.

        Raises `Misuse` when it is no run, or one of a scenario or an agent that is not there.
        """
        directory = RunDirectory.existing(path)
        about, came_to = directory.about(), outcome.of_run(directory)
        about.scenario = scenario or about.scenario
        lab = story.load(about.scenario).lab  # its own faults and workloads are known from then on
        script = at_home(decode(directory.read_script(), str(directory.script)), lab)
        script = by_events(script, directory.read_history())
        return cls(directory, about, given.nomad_of(about), script, came_to, broken(directory))

    @property
    def worker_argv(self) -> list[str]:
        """What a worker for it is started with, but for where its runs go."""
        return [self.about.scenario, self.nomad, self.about.provider]

    def order(self, script: Script | None = None, *, fresh: bool = False) -> Order:
        """To make it again, or with another script."""
        return Order(self.about.seed, script or self.script, fresh)

    def shows_in(self, done: Done | MachineError) -> bool:
        """Whether another run shows the same: one of the breaches, or that all held."""
        if isinstance(done, MachineError):
            return False
        again = RunDirectory.existing(Path(done.run))
        if self.broken:
            return bool(self.broken & broken(again))
        return outcome.of_run(again) == self.outcome

    def failure_of(self, done: Done | MachineError) -> MachineError | None:
        """What the machine did to another run that says nothing for it; None for one that says something."""
        if isinstance(done, MachineError):
            return done
        again = RunDirectory.existing(Path(done.run))
        if self.shows_in(done) or outcome.of_run(again) != "machine":
            return None
        return MachineError(again.about().error)


def broken(directory: RunDirectory) -> frozenset[str]:
    """The guarantees a run broke."""
    verdicts = directory.read_verdicts()
    return frozenset(each.guarantee for each in verdicts if each.outcome is Outcome.INVALID)


def by_events(script: Script, history: History) -> Script:
    """A script whose faults happen at the calls they happened at, where they were planned by the clock.

    A fault planned at a time is put at the last point of a call that the run came to before it was injected,
    and as long after that as it was. One that was injected before any call stays at its time.
    """
    injected = {event.id: event.t for event in history.of(Fault) if event.step == "injected"}
    acts, first = [], 0  # faults are numbered over all acts
    for act, (began, ended) in zip(script.acts, _acted(history, len(script.acts)), strict=True):
        reached = _points_reached(history, began, ended)
        planned = tuple(
            structs.replace(each, when=_last_before(injected[number], reached) or each.when)
            if isinstance(each.when, AtTime) and number in injected
            else each
            for number, each in enumerate(act.plan.planned, first)
        )
        acts.append(structs.replace(act, plan=Plan(planned)))
        first += len(planned)
    return structs.replace(script, acts=tuple(acts))


def _acted(history: History, acts: int) -> list[tuple[int, int]]:
    """From when to when calls are counted for each act: from its workload on until the next one's."""
    begun = [event.t for event in history.of(RunPhase) if event.name == "workload"] or [0]
    begun = begun[:acts]
    begun += [NEVER] * (acts - len(begun))
    return list(pairwise([*begun, NEVER]))


def _points_reached(history: History, began: int, ended: int) -> list[tuple[int, OnCall]]:
    """When each point of each call was reached, in order, counted as triggers count: from the workload on."""
    seen: Counter[Pattern] = Counter()
    found: list[tuple[int, OnCall]] = []
    numbered: dict[str, OnCall] = {}
    for call in history.of(Call):
        if not began <= call.t < ended or not call.volume:
            continue
        pattern = Pattern(call.method, call.volume)
        seen[pattern] += 1
        numbered[call.id] = OnCall(pattern, seen[pattern], Phase.AFTER)
        found.append((call.t, OnCall(pattern, seen[pattern], Phase.BEFORE)))
        if call.sent:
            found.append((call.sent, OnCall(pattern, seen[pattern], Phase.DURING)))
    found += [(reply.t, numbered[reply.id]) for reply in history.of(Reply) if reply.id in numbered]
    return sorted(found, key=lambda each: each[0])


def _last_before(t: int, reached: list[tuple[int, OnCall]]) -> OnCall | None:
    found = ((at, point) for at, point in reversed(reached) if at <= t)
    for at, point in found:
        later = (t - at) / SECOND
        return structs.replace(point, later=round(later, 3)) if later > AT_ONCE else point
    return None


def told(planned: Planned) -> str:
    """A planned fault, in words."""
    healed = f", healed {planned.heal_after:g} s later" if planned.heal_after is not None else ""
    if isinstance(planned.when, AtTime):
        return f"{planned.fault} {planned.when.seconds:g} s after the workload began{healed}"
    pattern, when = planned.when.pattern, planned.when
    about = " ".join(each for each in (pattern.volume, pattern.node, pattern.plugin) if each)
    later = f", {when.later:g} s later" if when.later else ""
    what = f"{planned.fault} {when.phase} call {when.nth} of {pattern.method} {about}".rstrip()
    return what + later + healed
