"""What became of each design's datasets, as a section of a run's page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from stormpool.history import History
from stormpool.leaks import table
from stormpool.leaks.tally import Row, tally
from stormpool.report.plain import plain


def section(history: History, event: str) -> str:
    """The table of this run, and under it each thing in a sentence; nothing for a run that tells of none."""
    rows = tally(history)
    if not rows:
        return ""
    shown = table.html(table.cells((event, row) for row in rows))
    told = "".join(f"<li>{escape(plain(each))}</li>" for row in rows for each in _told(row))
    more = f"<details><summary>what was counted</summary><ul>{told}</ul></details>" if told else ""
    return f'<section class="datasets"><h2>Datasets</h2><div class="wide">{shown}</div>{more}</section>'


def _told(row: Row) -> Iterator[str]:
    for what, each in (
        ("leaked", row.leaked),
        ("kept by policy", row.kept),
        ("lost", row.lost),
        ("data lost", row.data_lost),
        ("strangers' data", row.strangers),
        ("gained", row.gains),
    ):
        yield from (f"{row.design}, {what}: {one}" for one in each)
