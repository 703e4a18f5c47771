"""Tries every point of a scenario: one fault-free run gives the calls, each point becomes a run of its own.

All is written down as it happens, in a directory one can come back to: `explore.json`, what was asked and the
points; `results.jsonl`, a line a run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stormpool import faults, points, story, target
from stormpool.errors import MachineError, Misuse
from stormpool.history import Fault
from stormpool.points import Breaking, Point
from stormpool.runner import slug
from stormpool.script import Act, Script, decode
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome, worst
from stormpool.worker import Done, Order
from stormpool.workers import Told, Workers

# What is tried at every point, by the name that `--fault` takes.
BREAKING = {
    "fail": Breaking(faults.FailCall()),
    "lose": Breaking(faults.LoseAnswer()),
    "copy": Breaking(faults.DuplicateCall()),
    "cut": Breaking(faults.CutConnection()),
    "delay": Breaking(faults.DelayCall(2.0)),
    "kill-plugin": Breaking(faults.KillPlugin()),
    "kill-agent": Breaking(faults.KillAgent(target.serving()), heal_after=1.0),
    "pause-agent": Breaking(faults.PauseAgent(target.serving()), heal_after=2.0),
    "kill-leader": Breaking(faults.KillAgent(target.leader()), heal_after=1.0),
}
NOT_REACHED, NOT_RUN = "not reached", "not run"  # outcomes of points, beside those of verdicts
GIVE_UP_AFTER = 3  # labs in a row that could not be had
USUAL = ("fail", "lose", "copy", "cut", "kill-plugin", "kill-agent", "kill-leader")


class Tried(msgspec.Struct, frozen=True):
    """What came of one point."""

    point: str
    method: str
    faults: tuple[str, ...]
    outcome: str  # valid, invalid, unknown; or "not reached", when the run never came to the point
    broken: tuple[str, ...] = ()  # guarantees
    run: str = ""
    seconds: float = 0.0
    reset: float = -1.0
    why: str = ""


class Plan(msgspec.Struct, frozen=True):
    """What an exploration is of."""

    scenario: str
    nomad: str
    provider: str
    seed: int
    faults: tuple[str, ...]
    pairs: bool = False


@dataclass(frozen=True)
class Wanted:
    """How it is to be done this time."""

    parallel: int
    budget: float | None  # seconds
    keep: bool  # the runs in which all held as well


class Exploration:
    """One exploration and its directory."""

    def __init__(self, directory: Path, plan: Plan) -> None:
        self.directory = directory
        self.plan = plan
        self.points: list[Point] = []
        self.tried: dict[str, Tried] = {}  # by point
        self._results = directory / "results.jsonl"

    @classmethod
    def begin(cls, out: Path, plan: Plan) -> Exploration:
        """A new one, in a directory of its own below `out`. Raises `Misuse` for a fault nobody knows."""
        for name in set(plan.faults) - set(BREAKING):
            raise Misuse(f"no fault is named {name!r}", fix=f"name some of: {', '.join(BREAKING)}")
        story.load(plan.scenario)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        directory = (out / f"{stamp}-explore-{slug(plan.scenario)}-{slug(plan.nomad)}").absolute()
        directory.mkdir(parents=True)
        (directory / "explore.json").write_bytes(msgspec.json.format(msgspec.json.encode(plan)))
        return cls(directory, plan)

    @classmethod
    def resume(cls, directory: Path) -> Exploration:
        """One that was begun. Raises `Misuse` when none is there."""
        file = directory / "explore.json"
        if not file.exists():
            raise Misuse(f"no exploration is in {directory}", fix="give the directory that `explore` printed")
        found = cls(directory.absolute(), msgspec.json.decode(file.read_bytes(), type=Plan))
        if found._results.exists():
            lines = msgspec.json.Decoder(Tried).decode_lines(found._results.read_bytes())
            found.tried = {each.point: each for each in lines if each.run}  # without a run: tried again
        return found

    def run(self, wanted: Wanted, told: Callable[[Told], None], tell: Callable[[Tried], None]) -> None:
        """Try what was not tried yet, for as long as the budget lasts, and `tell` of each point."""
        plan = self.plan
        story.load(plan.scenario)  # its own faults and workloads are known from then on
        argv = [plan.scenario, plan.nomad, plan.provider, str(self.directory / "runs")]
        ends = time.monotonic() + wanted.budget if wanted.budget else float("inf")
        with Workers(wanted.parallel, argv, self.directory, told) as workers:
            base = self._base(workers)
            left = {each.name: each for each in self._left(base)}
            orders = ((name, self._order(base, each)) for name, each in left.items())
            failures = 0
            for name, done in workers.run(_until(ends, orders)):
                failures = failures + 1 if isinstance(done, MachineError) else 0
                if failures == GIVE_UP_AFTER and isinstance(done, MachineError):
                    raise done
                tried = self._judge(left[name], done)
                self._note(tried, keep=wanted.keep)
                tell(tried)

    def _base(self, workers: Workers) -> Script:
        """The script of the fault-free run, which all others are this and one point more."""
        file = self.directory / "base.json"
        if not file.exists():
            ((_, done),) = workers.run([("base", Order(self.plan.seed))])
            if isinstance(done, MachineError):
                raise done
            run = RunDirectory.existing(Path(done.run))
            judged = run.judged()
            if judged is None or judged.outcome is not Outcome.VALID:
                raise MachineError(
                    f"the fault-free run is not valid, so no fault could be blamed; see {run.report}"
                )
            file.write_bytes(run.script.read_bytes())
            (self.directory / "base.run").write_text(done.run)
        base = RunDirectory.existing(Path((self.directory / "base.run").read_text()))
        breaking = [BREAKING[name] for name in self.plan.faults]
        self.points = points.points(base.read_history(), breaking)
        return decode(file.read_bytes(), str(file))

    def _left(self, base: Script) -> Iterator[Point]:
        if len(base.acts) != 1:
            raise Misuse("this scenario runs the cluster more than once", fix="explore one with a single run")
        more = points.pairs(self.points, self.plan.seed) if self.plan.pairs else []
        self.points = [*self.points, *more]
        return (each for each in self.points if each.name not in self.tried)

    def _order(self, base: Script, point: Point) -> Order:
        (act,) = base.acts
        script = Script(base.lab, (Act(act.workloads, point.added_to(act.plan), act.settle),))
        return Order(self.plan.seed, script)

    def _judge(self, point: Point, done: Done | MachineError) -> Tried:
        about = (
            point.name,
            points.methods([point])[0],
            tuple(str(each.fault) for each in point.planned),
        )
        if isinstance(done, MachineError):
            return Tried(*about, str(Outcome.UNKNOWN), why=str(done))
        run = RunDirectory.existing(Path(done.run))
        verdicts = run.read_verdicts()
        outcome = worst(each.outcome for each in verdicts)
        bad = [each for each in verdicts if each.outcome is outcome is not Outcome.VALID]
        why = run.about().error or "; ".join(each.why for each in bad)
        if outcome is not Outcome.INVALID and not _reached(run, len(point.planned)):
            return Tried(*about, NOT_REACHED, (), done.run, done.seconds, done.reset, why)
        broken = tuple(each.guarantee for each in bad) if outcome is Outcome.INVALID else ()
        return Tried(*about, str(outcome), broken, done.run, done.seconds, done.reset, why)

    def _note(self, tried: Tried, *, keep: bool) -> None:
        self.tried[tried.point] = tried
        with self._results.open("ab") as file:
            file.write(msgspec.json.encode(tried) + b"\n")
        if tried.outcome == Outcome.VALID and not keep:
            RunDirectory(Path(tried.run)).remove()


def _until(ends: float, orders: Iterable[Any]) -> Iterator[Any]:
    """Orders, until the time is over."""
    for order in orders:
        if time.monotonic() > ends:
            return
        yield order


def _reached(run: RunDirectory, planned: int) -> bool:
    """Whether the run came to its point: the last of the planned faults were injected."""
    events = run.read_history().of(Fault)
    total = {event.id for event in events if event.step == "planned"}
    injected = {event.id for event in events if event.step == "injected"}
    return set(sorted(total)[-planned:]) <= injected


def coverage(exploration: Exploration) -> dict[tuple[str, str], Counter[str]]:
    """What came of the points, by method and fault; those not tried count as "not run"."""
    table: dict[tuple[str, str], Counter[str]] = {}
    for point in exploration.points:
        (method,) = points.methods([point])
        name = " + ".join(str(each.fault) for each in point.planned)
        tried = exploration.tried.get(point.name)
        outcome = tried.outcome if tried else NOT_RUN
        table.setdefault((method, name), Counter())[outcome] += 1
    return table
