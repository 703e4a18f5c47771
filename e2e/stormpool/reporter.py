"""Writes what a run came to beside its history: the page, with its logs, and the trace."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from itertools import chain
from pathlib import Path

from stormpool.report.log import Kept, Line, folded, keep, parse
from stormpool.report.page import Dress, Judgement, page
from stormpool.report.perfetto import trace
from stormpool.store import RunDirectory

TRACE = "trace.json"
MOST_READ = 64_000_000  # bytes of one log
LONGEST = 10_000  # characters of a line that are read at once


def write(directory: RunDirectory, judgement: Judgement) -> None:
    """Write a run's page and trace, in place of earlier ones."""
    drawn = judgement.drawn
    moments = [*(t for t, _ in drawn.moments), *(breach.start for breach in drawn.breaches)]
    logs = logs_of(directory.logs, judgement.about.began_wall, moments)
    directory.report.write_text(page(judgement, logs, dress()), encoding="utf-8")
    (directory.path / TRACE).write_bytes(trace(judgement.about, judgement.history, drawn))


def files(directory: RunDirectory) -> list[Path]:
    """What a test report is given of a run, as far as it was written."""
    wanted = (directory.report, directory.history, directory.path / "verdict.json", directory.path / TRACE)
    return [path for path in wanted if path.exists()]


def dress() -> Dress:
    """The page's script and style, from the package."""
    files = resources.files("stormpool.report")
    return Dress(
        script=(files / "page.js").read_text(encoding="utf-8"),
        style=(files / "page.css").read_text(encoding="utf-8"),
    )


def logs_of(logs: Path, began: int, moments: list[int]) -> Kept:
    """The lines of all logs under a directory that are worth showing.

    `began`: when the run began, nanoseconds of the wall clock, 0 if unknown; `moments`: what is to be seen.
    """
    files = sorted(path for path in logs.rglob("*") if path.is_file() and not path.is_symlink())
    kept = keep(chain.from_iterable(_lines(path, logs, began) for path in files), moments)
    unread = sum(max(0, path.stat().st_size - MOST_READ) for path in files)
    return Kept(kept.lines, kept.left_out, unread, where=str(logs))


def _lines(path: Path, logs: Path, began: int) -> Iterator[Line]:
    source = str(path.relative_to(logs)).removesuffix(".log")
    return folded(parse(source, _raw(path), began))


def _raw(path: Path) -> Iterator[str]:
    read = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        while read < MOST_READ and (line := file.readline(LONGEST)):
            read += len(line)
            yield line
