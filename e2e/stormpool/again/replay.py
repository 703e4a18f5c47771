"""Replay and shrink, for people: what will be executed, what is going on, what came of it."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from stormpool import outcome
from stormpool.again import bundle, consent, shrink
from stormpool.again.bundle import Unpacked
from stormpool.again.reproduction import Original, told
from stormpool.board import Board
from stormpool.errors import MachineError, Misuse
from stormpool.report.plain import plain
from stormpool.runner import slug
from stormpool.script import encode
from stormpool.store import RunDirectory
from stormpool.workers.pool import Told, Workers
from stormpool.workers.worker import Done


@dataclass(frozen=True)
class How:
    """How often, how many at once, and where."""

    parallel: int
    out: Path
    yes: bool  # do not ask
    as_json: bool


class Replayed(msgspec.Struct, frozen=True):
    """What came of replaying a run."""

    run: str
    broken: list[str]  # by the run that was replayed
    runs: int
    reproduced: int
    failed: int  # could not be run, or not to their end, for the machine
    others: dict[str, int]  # what the others came to
    again: list[str]  # directories of the runs that showed the same


def original(path: Path, how: How) -> Original:
    """A run, from its directory or a bundle; what a bundle brings with it is shown, and asked about."""
    if path.is_dir():
        return Original.read(path)
    found = bundle.unpack(path, how.out)
    _ask(found, how)
    return Original.read(found.run, found.scenario)


def _ask(found: Unpacked, how: How) -> None:
    """Say what a bundle of somebody's would execute here, and go on only if told so."""
    lines = consent.executed(found)
    click.echo("this bundle was made elsewhere; replaying it executes on this machine, as you:", err=True)
    click.echo("\n".join(f"  {line}" for line in lines), err=True)
    if not how.yes:
        if not sys.stdin.isatty():
            raise Misuse("nobody is there to be asked", fix=f"read {found.source}, then say --yes")
        click.confirm("go on?", abort=True, err=True)


def replay(path: Path, repeat: int, how: How) -> Replayed:
    """Make a run again so many times, each on a lab of its own, and say how often it showed the same."""
    one = original(path, how)
    if not how.as_json:
        click.echo(_described(one), err=True)
    board = Board(repeat, quiet=how.as_json)
    others, same, failed = Counter[str](), list[str](), 0

    def progress(said: Told) -> None:
        board.told(said.worker, f"lab {said.worker}  {said.what}")

    out = how.out / f"replay-{slug(one.directory.path.name)}"
    orders = ((str(number), one.order(fresh=True)) for number in range(repeat))
    with board, Workers(how.parallel, [*one.worker_argv, str(out)], out, progress) as workers:
        for _, done in workers.run(orders):
            board.finished(None)
            failure = one.failure_of(done)
            if failure is not None:
                failed += 1
                _tell_failure(failure, board)
            elif isinstance(done, Done) and one.shows_in(done):
                same.append(done.run)
            elif isinstance(done, Done):
                others[outcome.of_run(RunDirectory.existing(Path(done.run)))] += 1
    return Replayed(str(path), sorted(one.broken), repeat, len(same), failed, dict(others), same)


def _tell_failure(failure: MachineError, board: Board) -> None:
    """Say why a run could not be made, as soon as that is known."""
    with board.aside():
        click.echo(f"stormpool: could not be run: {plain(str(failure), consent.LONGEST)}", err=True)


def _described(one: Original) -> str:
    lines = [f"replaying {one.about.scenario} on nomad {one.about.versions['nomad']}, seed {one.about.seed}"]
    for act in one.script.acts:
        lines += [f"  {told(planned)}" for planned in act.plan.planned]
    return "\n".join(map(plain, lines))  # a bundle's words may be among them


def exit_code(replayed: Replayed) -> int:
    """0 when the run showed the same at least once, 2 when it never did, 70 when it could not be run."""
    if replayed.reproduced:
        return 0
    return MachineError.exit_code if replayed.failed == replayed.runs else 2


def told_of(replayed: Replayed) -> str:
    """What came of a replay, for people."""
    rate = 100 * replayed.reproduced / replayed.runs
    what = f"broke {plain(', '.join(replayed.broken))}" if replayed.broken else "came to the same"
    lines = [f"{what}: {replayed.reproduced} of {replayed.runs} times ({rate:.0f} %)"]
    lines += [f"  {count} times: {name}" for name, count in replayed.others.items()]
    if replayed.failed:
        lines.append(f"  {replayed.failed} times it could not be run")
    lines += [f"  report: {RunDirectory(Path(run)).report}" for run in replayed.again[:1]]
    return "\n".join(lines)


def make_smaller(path: Path, tries: int, how: How) -> dict[str, object]:
    """Shrink a run, and say what is left of it."""
    one = original(path, how)
    board = Board(0, quiet=how.as_json)
    out = how.out / f"shrink-{slug(one.directory.path.name)}"

    def progress(said: Told) -> None:
        board.told(said.worker, f"lab {said.worker}  {said.what}")

    def tell(what: str) -> None:
        with board.aside():
            if not how.as_json:
                click.echo(f"  {plain(what, consent.LONGEST)}", err=True)

    with board, Workers(how.parallel, [*one.worker_argv, str(out)], out, progress) as workers:
        made = shrink.shrink(one, workers, tries, tell)
    (out / "script.json").write_bytes(encode(made.script))
    return {
        "run": str(path),
        "smallest": made.run,
        "before": shrink.size(one.script),
        "after": shrink.size(made.script),
        "removed": made.removed,
        "runs": made.runs,
    }


def told_of_smaller(said: dict[str, object]) -> str:
    """What is left of a run, for people."""
    lines = [f"before: {_sized(said['before'])}", f"after:  {_sized(said['after'])}, in {said['runs']} runs"]
    lines += [f"  without {plain(each)}" for each in msgspec.convert(said["removed"], list[str])]
    return "\n".join(
        [*lines, f"smallest run: {said['smallest']}", f"again: stormpool replay {said['smallest']}"]
    )


def _sized(size: object) -> str:
    return ", ".join(f"{count} {name}" for name, count in msgspec.convert(size, dict[str, int]).items())
