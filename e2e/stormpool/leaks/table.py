"""Many runs' rows as one table: for each event and each design what became of the datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from statistics import median

import msgspec

from stormpool.leaks.tally import Row
from stormpool.report.plain import plain

HEAD = (
    "event",
    "design",
    "runs",
    "allocations",
    "datasets leaked",
    "kept by policy",
    "datasets lost",
    "data lost",
    "strangers' data seen",
    "time to collect: median (spread)",
    "processes a dataset",
    "a submitter gains",
)
NUMBERS = 2  # columns before these are words


class Spread(msgspec.Struct, frozen=True):
    """How some numbers are spread."""

    median: float
    least: float
    most: float
    count: int


class Cell(msgspec.Struct, frozen=True):
    """One design under one event, over all runs of it: how often each thing was so."""

    event: str
    design: str
    runs: int
    allocations: int
    unread: int  # of them: of which nothing was read
    datasets: int
    leaked: int
    kept: int
    lost: int
    data_lost: int
    strangers: int
    collected: Spread | None  # seconds; None where nothing was
    processes: Spread | None  # None where nothing was counted
    gains_root: bool


def cells(rows: Iterable[tuple[str, Row]]) -> list[Cell]:
    """The table of rows, each with the event of its run; events and designs as they first come."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event, row in rows:
        found[event, row.design].append(row)
    events = list(dict.fromkeys(event for event, _ in found))
    return [
        _cell(event, design, together)
        for wanted in events
        for (event, design), together in found.items()
        if event == wanted
    ]


def _cell(event: str, design: str, rows: Sequence[Row]) -> Cell:
    return Cell(
        event=event,
        design=design,
        runs=len(rows),
        allocations=sum(row.allocations for row in rows),
        unread=sum(len(row.unread) for row in rows),
        datasets=sum(row.datasets for row in rows),
        leaked=sum(len(row.leaked) for row in rows),
        kept=sum(len(row.kept) for row in rows),
        lost=sum(len(row.lost) for row in rows),
        data_lost=sum(len(row.data_lost) for row in rows),
        strangers=sum(len(row.strangers) for row in rows),
        collected=spread([each for row in rows for each in row.collected]),
        processes=spread([each for row in rows for each in row.processes]),
        gains_root=any(row.gains for row in rows),
    )


def spread(numbers: Sequence[float]) -> Spread | None:
    """How numbers are spread; None of none."""
    if not numbers:
        return None
    return Spread(median(numbers), min(numbers), max(numbers), len(numbers))


def markdown(found: Iterable[Cell]) -> str:
    """The table in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * NUMBERS + "---:|" * (len(HEAD) - NUMBERS)]
    lines += [f"| {' | '.join(words(each))} |" for each in found]
    return "\n".join(lines) + "\n"


def html(found: Iterable[Cell]) -> str:
    """The table as an element of a page: plain and escaped."""
    head = "".join(f"<th>{escape(each)}" for each in HEAD)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(plain(each))}" for each in words(cell)) + "</tr>" for cell in found
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def words(cell: Cell) -> tuple[str, ...]:
    """A row of the table for people."""
    return (
        cell.event,
        cell.design,
        str(cell.runs),
        f"{cell.allocations} ({cell.unread} unread)" if cell.unread else str(cell.allocations),
        f"{cell.leaked} of {cell.datasets}",
        str(cell.kept),
        str(cell.lost),
        str(cell.data_lost),
        str(cell.strangers),
        _took(cell.collected),
        _many(cell.processes),
        "root on the node" if cell.gains_root else "nothing",
    )


def _took(seen: Spread | None) -> str:
    if seen is None:
        return "never"
    return f"{seen.median:.2f} s ({seen.least:.2f} to {seen.most:.2f}; {seen.count})"


def _many(seen: Spread | None) -> str:
    if seen is None:
        return "not counted"
    return f"{seen.least:g}" if seen.least == seen.most else f"{seen.least:g} to {seen.most:g}"
