"""The table of what became of datasets, over runs that are saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from stormpool.errors import Misuse
from stormpool.leaks import table, tally
from stormpool.leaks.event import event_of
from stormpool.leaks.table import Cell
from stormpool.store import RunDirectory

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
        about, found = run.about(), tally(run.read_history())
        if about.error or not found:
            why = about.error.partition("\n")[0] or "it tells of no design of datasets"
            left_out(f"{path} is not counted: {why}")
        else:
            rows += [(event_of(about.scenario), row) for row in found]
    if not rows:
        raise Misuse("no run can be counted", fix="give runs of scenarios/device/test_the_storm.py")
    return table.cells(rows)


def page(found: Iterable[Cell]) -> str:
    """The table as a page of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Datasets under a storm</title>'
        f"<style>{STYLE}</style></head><body><h1>Datasets under a storm</h1>{table.html(found)}</body></html>"
    )
