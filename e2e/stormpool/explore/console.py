"""An exploration for people: its progress, each breach as it is found, and the table of what was covered."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from stormpool.board import Board
from stormpool.explore.exploration import BROKE_ANYWAY, Exploration, Tried, Wanted, coverage
from stormpool.verdict import Outcome
from stormpool.workers.pool import Told

SHOWN = {
    "valid": "held",
    "invalid": "BROKE",
    "unknown": "unknown",
    BROKE_ANYWAY: "broke without the fault",
    "machine": "machine failed",
    "misuse": "misuse",
    "skipped": "skipped",
    "not reached": "not reached",
    "not run": "left",
}


class Progress:
    """How far it is, and how long it will take."""

    def __init__(self, exploration: Exploration, wanted: Wanted, *, quiet: bool) -> None:
        self._exploration = exploration
        self._wanted = wanted
        self._began = time.monotonic()
        self._had = len(exploration.tried)
        self.board = Board(0, quiet=quiet)

    def told(self, said: Told) -> None:
        """A lab has come to this."""
        self.board.told(said.worker, f"lab {said.worker}  {said.what}")

    def one_more(self) -> None:
        """A point was tried."""
        self.board.total = len(self._exploration.points)
        self.board.finished(None, self.foot())

    def foot(self) -> str:
        """What has come of it so far, and how long the rest will take."""
        counts = Counter(each.outcome for each in self._exploration.tried.values())
        done = len(self._exploration.tried) - self._had
        spent = time.monotonic() - self._began
        left = (len(self._exploration.points) - len(self._exploration.tried)) * spent / max(1, done)
        if self._wanted.budget:
            left = min(left, max(0.0, self._wanted.budget - spent))
        shown = ", ".join(f"{count} {SHOWN[name]}" for name, count in counts.items())
        return (
            f"{shown}; about {left / 60:.0f} min left" if left > 90 else f"{shown}; about {left:.0f} s left"
        )


def run(exploration: Exploration, wanted: Wanted, *, as_json: bool) -> None:
    """Explore, telling of what is found as it is found, and of all at the end, however that comes."""
    progress = Progress(exploration, wanted, quiet=as_json)
    click.echo(f"exploring in {exploration.directory}; go on after a stop with --resume", err=True)
    began = time.monotonic()

    def tell(tried: Tried) -> None:
        progress.one_more()
        with progress.board.aside():
            _tell(tried, as_json=as_json)

    try:
        with progress.board:
            exploration.run(wanted, progress.told, tell)
    finally:
        _sum_up(exploration, time.monotonic() - began, as_json=as_json)


def _sum_up(exploration: Exploration, took: float, *, as_json: bool) -> None:
    summary = {
        "exploration": str(exploration.directory),
        "points": len(exploration.points),
        "stand_for": sum(point.stands_for for point in exploration.points),
        "tried": len(exploration.tried),
        "outcomes": dict(Counter(each.outcome for each in exploration.tried.values())),
        "seconds": round(took, 1),
    }
    (exploration.directory / "coverage.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary)))
    if as_json:
        click.echo(msgspec.json.encode(summary).decode())
    else:
        Console().print(table(exploration))
        click.echo(told(exploration))


def _tell(tried: Tried, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(tried).decode())
    elif tried.outcome != Outcome.VALID:
        click.echo(told_of(tried))


def told_of(tried: Tried) -> str:
    """What came of a point that did not hold, for people."""
    without = " without the fault" if tried.outcome == BROKE_ANYWAY else ""
    broke = f"broke {', '.join(tried.broken)}{without}"
    lines = [f"{tried.point}: {broke if tried.broken else f'{SHOWN[tried.outcome]}: {tried.why}'}"]
    lines += [f"  again: stormpool replay {_short(tried.run)}"] if tried.run else []
    return "\n".join(lines)


def table(exploration: Exploration) -> Table:
    """What came of the points: a row a method, a column a fault."""
    covered = coverage(exploration)
    faults = list(dict.fromkeys(fault for _, fault in covered))
    drawn = Table(title="points by call and fault")
    drawn.add_column("call")
    for fault in faults:
        drawn.add_column(fault)
    for method in dict.fromkeys(method for method, _ in covered):
        cells = [_cell(covered.get((method, fault), Counter())) for fault in faults]
        drawn.add_row(method, *cells)
    return drawn


def _cell(counts: Counter[str]) -> str:
    return "\n".join(f"{counts[name]} {shown}" for name, shown in SHOWN.items() if counts[name]) or "-"


def told(exploration: Exploration) -> str:
    """What an exploration came to, in a few lines."""
    counts = Counter(each.outcome for each in exploration.tried.values())
    stand_for = sum(point.stands_for for point in exploration.points)
    left = len(exploration.points) - len(exploration.tried)
    lines = [
        f"{len(exploration.points)} points (they stand for {stand_for}), {len(exploration.tried)} tried: "
        + ", ".join(f"{count} {SHOWN[name]}" for name, count in counts.items())
    ]
    spent = Counter(each.spent for each in exploration.tried.values() if each.spent)
    if spent:
        mostly = spent.most_common(1)[0][0]
        lines.append(f"{spent.total()} of {len(exploration.tried)} runs used their lab up, mostly: {mostly}")
    if left:
        lines.append(f"{left} left: stormpool explore --resume {_short(str(exploration.directory))}")
    return "\n".join(lines)


def exit_code(exploration: Exploration) -> int:
    """1 when something broke, 2 when something could not be judged or was not tried, 0 when all held."""
    outcomes = {each.outcome for each in exploration.tried.values()}
    if outcomes & {str(Outcome.INVALID), BROKE_ANYWAY}:
        return 1
    whole = len(exploration.tried) >= len(exploration.points) and outcomes == {str(Outcome.VALID)}
    return 0 if whole else 2


def _short(path: str) -> str:
    """A path as one would type it here."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
