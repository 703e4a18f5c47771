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

from stormpool import faults, outcome, target
from stormpool.capability import Capability
from stormpool.errors import MachineError, Misuse
from stormpool.events import Fault
from stormpool.explore import points
from stormpool.explore.points import Breaking, Point
from stormpool.history import History
from stormpool.runner import slug
from stormpool.script import Act, Script, decode
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome, Verdict
from stormpool.workers import story
from stormpool.workers.pool import Patience, Told, Workers
from stormpool.workers.worker import Done, Order

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
# Outcomes of points, beside those of runs.
NOT_REACHED, NOT_RUN = "not reached", "not run"
BROKE_ANYWAY = "broke anyway"  # all that broke did so before the point's faults, or without them
USUAL = ("fail", "lose", "copy", "cut", "kill-plugin", "kill-agent", "kill-leader")


class Tried(msgspec.Struct, frozen=True):
    """What came of one point."""

    point: str
    method: str
    faults: tuple[str, ...]
    outcome: str  # that of its run, or "not reached", when it never came to the point, or "broke anyway"
    broken: tuple[str, ...] = ()  # guarantees
    run: str = ""
    seconds: float = 0.0
    reset: float = -1.0  # seconds until its lab was as good as new; negative: it could not be
    why: str = ""
    spent: str = ""  # why its lab could not be used again


class Subject(msgspec.Struct, frozen=True):
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

    def __init__(self, directory: Path, subject: Subject) -> None:
        self.directory = directory
        self.subject = subject
        self.points: list[Point] = []
        self.tried: dict[str, Tried] = {}  # by point
        self._results = directory / "results.jsonl"

    @classmethod
    def begin(cls, out: Path, subject: Subject) -> Exploration:
        """A new one, in a directory of its own below `out`. Raises `Misuse` for a fault nobody knows."""
        for name in set(subject.faults) - set(BREAKING):
            raise Misuse(f"no fault is named {name!r}", fix=f"name some of: {', '.join(BREAKING)}")
        story.load(subject.scenario)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        directory = (out / f"{stamp}-explore-{slug(subject.scenario)}-{slug(subject.nomad)}").absolute()
        directory.mkdir(parents=True)
        (directory / "explore.json").write_bytes(msgspec.json.format(msgspec.json.encode(subject)))
        return cls(directory, subject)

    @classmethod
    def resume(cls, directory: Path) -> Exploration:
        """One that was begun. Raises `Misuse` when none is there."""
        file = directory / "explore.json"
        if not file.exists():
            raise Misuse(f"no exploration is in {directory}", fix="give the directory that `explore` printed")
        try:
            subject = msgspec.json.decode(file.read_bytes(), type=Subject)
        except msgspec.DecodeError as error:
            raise Misuse(f"{file} cannot be read: {error}", fix="explore anew") from error
        found = cls(directory.absolute(), subject)
        if found._results.exists():
            lines = _whole_lines(found._results)
            found.tried = {each.point: each for each in lines if each.run}  # without a run: tried again
        return found

    def run(self, wanted: Wanted, told: Callable[[Told], None], tell: Callable[[Tried], None]) -> None:
        """Try what was not tried yet, for as long as the budget lasts, and `tell` of each point."""
        subject = self.subject
        story.load(subject.scenario)  # its own faults and workloads are known from then on
        argv = [subject.scenario, subject.nomad, subject.provider, str(self.directory / "runs")]
        ends = time.monotonic() + wanted.budget if wanted.budget else float("inf")
        with Workers(wanted.parallel, argv, self.directory, told) as workers:
            base = self._base(workers)
            left = {each.name: each for each in self._left()}
            orders = ((name, self._order(base, each)) for name, each in left.items())
            patience = Patience()
            for name, done in workers.run(_until(ends, orders)):
                patience.hear(done if isinstance(done, MachineError) else None)
                tried = self._judge(left[name], base, done)
                self._note(tried, keep=wanted.keep)
                tell(tried)

    def _base(self, workers: Workers) -> Script:
        """The script of the fault-free run, which all others are this and one point more."""
        base = self._base_run() or self._run_base(workers)
        script = decode(base.read_script(), str(base.script))
        if not script.acts:
            raise Misuse(f"{self.subject.scenario} never calls `cluster.run`", fix="explore one that does")
        breaking = [BREAKING[name] for name in self.subject.faults]
        if not script.lab.servers:
            breaking = [each for each in breaking if Capability.AGENTS not in each.fault.needs]
        self.points = points.points(base.read_history(), breaking)
        return script

    def _base_run(self) -> RunDirectory | None:
        """The fault-free run that was made already, if it is still there."""
        written = self.directory / "base.run"
        if not written.exists():
            return None
        run = RunDirectory(Path(written.read_text()))
        return run if run.script.exists() and run.history.exists() else None

    def _run_base(self, workers: Workers) -> RunDirectory:
        ((_, done),) = workers.run([("base", Order(self.subject.seed))])
        if isinstance(done, MachineError):
            raise done
        run = RunDirectory.existing(Path(done.run))
        came_to = outcome.of_run(run)
        if came_to != Outcome.VALID:
            raise MachineError(
                f"the fault-free run is {came_to}, so no fault could be blamed; see {run.report}"
            )
        draft = self.directory / "base.new"
        draft.write_text(done.run)
        draft.replace(self.directory / "base.run")  # whole, or not there
        return run

    def _left(self) -> Iterator[Point]:
        more = points.pairs(self.points, self.subject.seed) if self.subject.pairs else []
        self.points = [*self.points, *more]
        return (each for each in self.points if each.name not in self.tried)

    def _order(self, base: Script, point: Point) -> Order:
        act, *others = base.acts
        broken = Act(act.workloads, point.added_to(act.plan), act.settle)
        script = Script(base.lab, (broken, *others))
        return Order(self.subject.seed, script)

    def _judge(self, point: Point, base: Script, done: Done | MachineError) -> Tried:
        about = (
            point.name,
            points.methods([point])[0],
            tuple(str(each.fault) for each in point.planned),
        )
        if isinstance(done, MachineError):
            return Tried(*about, "machine", why=str(done))
        run = RunDirectory.existing(Path(done.run))
        first = base.acts[0].plan.planned
        numbers = range(len(first), len(first) + len(point.planned))  # they are added to the first act's
        judged, history = run.read_verdicts(), run.read_history()
        came_to, broken = told_apart(outcome.of_run(run), judged, injected_at(history, numbers))
        bad = [each for each in judged if each.outcome is not Outcome.VALID]
        why = run.about().error or "; ".join(each.why for each in bad)
        return Tried(*about, came_to, tuple(broken), done.run, done.seconds, done.reset, why, done.spent)

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


def _whole_lines(file: Path) -> list[Tried]:
    """What is written of points that were tried; half a line at the end, left by a stop, is taken off.

    Raises `Misuse` where another line cannot be read.
    """
    data = file.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        with file.open("rb+") as results:
            results.truncate(len(whole))
    try:
        return msgspec.json.Decoder(Tried).decode_lines(whole)
    except msgspec.DecodeError as error:
        raise Misuse(f"{file} cannot be read: {error}", fix="take out the line, or explore anew") from error


def injected_at(history: History, numbers: Iterable[int]) -> list[int | None]:
    """When each of some planned faults was injected first; None for one that never was."""
    injected = {event.id: event.t for event in reversed(history.of(Fault)) if event.step == "injected"}
    return [injected.get(number) for number in numbers]


def told_apart(
    came_to: str, verdicts: Iterable[Verdict], injected: Iterable[int | None]
) -> tuple[str, list[str]]:
    """What a point came to, and what broke: what its run came to, but for what its faults cannot have done.

    `injected`: when each of them was. A guarantee that had been broken before was not broken by them.
    """
    times = list(injected)
    since = min((t for t in times if t is not None), default=None)
    broken = [each for each in verdicts if each.outcome is Outcome.INVALID]
    if came_to == Outcome.INVALID:
        blamed = [each for each in broken if since is not None and _whole_until(since, each)]
        return came_to if blamed else BROKE_ANYWAY, [each.guarantee for each in blamed or broken]
    finished = came_to in (Outcome.VALID, Outcome.UNKNOWN)
    return NOT_REACHED if finished and None in times else came_to, []


def _whole_until(t: int, broken: Verdict) -> bool:
    """Whether no breach was over by then."""
    return all(each.end >= t for each in broken.witnesses)


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
