"""The table of what became of datasets, over runs that are saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from stormpool.errors import Misuse
from stormpool.events import Books
from stormpool.history import History
from stormpool.leaks import table, tally
from stormpool.leaks.event import event_of
from stormpool.leaks.table import Cell
from stormpool.store import RunDirectory
from stormpool.verdict import never_happened

STYLE = (
    "body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color-scheme:light dark}"
    "table{border-collapse:collapse}th,td{padding:.3rem .6rem;text-align:left;border-bottom:1px solid #8884}"
    "thead{position:sticky;top:0;background:Canvas}"
)


def read(paths: Iterable[Path], left_out: Callable[[str], None]) -> list[Cell]:
    """The table of some runs; `left_out` is told of each that cannot be counted, and why.

    Raises `Misuse` where none can be.
    """
    rows = []
    for path in paths:
        run = RunDirectory.existing(path)
        about, history = run.about(), run.read_history()
        found = tally(history)
        why = about.error.partition("\n")[0] or _why_not(history)
        if why or not found:
            left_out(f"{path} is not counted: {why or 'it tells of no design of datasets'}")
        else:
            rows += [(event_of(about.scenario), row) for row in found]
    if not rows:
        raise Misuse("no run can be counted", fix="give runs of scenarios/device/test_the_storm.py")
    return table.cells(rows)


def _why_not(history: History) -> str:
    """Why a run tells nothing of its event: it did not happen, or what was left may be in use."""
    missing = never_happened(history)
    if missing:
        return f"{missing[0]} never happened"
    return "its tasks had not all ended" if any(each.settled_in < 0 for each in history.of(Books)) else ""


def page(found: Iterable[Cell]) -> str:
    """The table as a page of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Datasets under a storm</title>'
        f"<style>{STYLE}</style></head><body><h1>Datasets under a storm</h1>{table.html(found)}</body></html>"
    )
