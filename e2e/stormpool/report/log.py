"""Logs beside the timeline: what agents wrote with the time, what tasks and plugins wrote without.

Agents' times are of the wall clock, in ISO 8601 (hclog's format); a history's are since the run began.
"""

from __future__ import annotations

import calendar
import heapq
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from stormpool.events import SECOND
from stormpool.report.plain import plain

MOST_LINES = 20_000
MOST_TEXT = 4_000_000  # characters
LONGEST = 2_000  # characters of one line
NEAR = 2 * SECOND  # around a breach or a fault
ALIKE = SECOND  # the same words of the same source within this are told once

STAMPED = re.compile(
    r"\s*(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)"
    r"\s+\[?(TRACE|DEBUG|INFO|WARN(?:ING)?|ERR(?:OR)?|FATAL)\]?\s*(.*)",
    re.DOTALL,
)
LEVELS = {"WARNING": "WARN", "ERR": "ERROR", "FATAL": "ERROR"}
BAD = frozenset({"WARN", "ERROR"})


@dataclass(frozen=True, slots=True)
class Line:
    """What was logged at once, by whom."""

    t: int | None  # nanoseconds since the run began; None: it bears no time
    source: str
    level: str  # TRACE, DEBUG, INFO, WARN, ERROR; empty where none is told
    text: str


@dataclass(frozen=True)
class Kept:
    """The lines that are shown, in the order of their times, those without at the end as they came."""

    lines: tuple[Line, ...] = ()
    left_out: int = 0  # lines that were read and are not shown
    unread: int = 0  # bytes that were not even read
    where: str = "logs"  # where the whole is


def parse(source: str, raw: Iterable[str], began: int) -> Iterator[Line]:
    """The lines of one log; `began` is when the run began, in nanoseconds of the wall clock, 0 if unknown.

    A line without a time continues the one before it; before the first with a time it stands alone.
    """
    last: Line | None = None
    for each in raw:
        line = _line(source, each.rstrip("\r\n"), began)
        if line.t is None and last is not None:
            if len(last.text) < LONGEST:
                last = replace(last, text=f"{last.text}\n{line.text}")
            continue
        if last is not None:
            yield last
            last = None
        if line.t is None:
            yield line
        else:
            last = line
    if last is not None:
        yield last


def _line(source: str, text: str, began: int) -> Line:
    found = STAMPED.fullmatch(text[:LONGEST]) if began else None
    if found is None:
        return Line(None, source, "", text[:LONGEST])
    *parts, fraction, zone, level, said = found.groups()
    wall = calendar.timegm(tuple(int(part) for part in parts)) - _offset(zone)
    at = wall * SECOND + int((fraction or "0").ljust(9, "0")) - began
    return Line(at, source, LEVELS.get(level, level), said)


def _offset(zone: str) -> int:
    """Seconds east of UTC."""
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)


def folded(lines: Iterable[Line]) -> Iterator[Line]:
    """Lines of one source; what it says over and over within a second is told once, and how often."""
    said: dict[tuple[str, str], tuple[int, int]] = {}  # words → when they were told, how often since
    for line in lines:
        key = (line.level, line.text)
        told, times = said.get(key, (-ALIKE, 0))
        if line.t is not None and key in said and line.t - told < ALIKE:
            said[key] = (told, times + 1)
            continue
        if len(said) > 1000:
            said.clear()
        said[key] = (line.t or 0, 0)
        yield replace(line, text=f"{line.text}  ({times} more times in the second before)") if times else line


def keep(
    lines: Iterable[Line], moments: Iterable[int], *, most: int = MOST_LINES, most_text: int = MOST_TEXT
) -> Kept:
    """At most so many lines: first what is near a breach or a fault, warnings and errors before the rest.

    `moments`: when those were, in nanoseconds since the run began.
    """
    in_order = sorted(moments)
    numbers = count()
    every = (line for line, _ in zip(lines, numbers, strict=False))
    best = heapq.nsmallest(most, every, key=lambda line: _rank(line, in_order))
    seen = next(numbers)
    kept: list[Line] = []
    room = most_text
    for line in best:
        text = plain(line.text, LONGEST)
        room -= len(text)
        if room < 0:
            break
        kept.append(replace(line, text=text))
    kept.sort(key=lambda line: (line.t is None, line.t or 0))
    return Kept(tuple(kept), seen - len(kept))


def _rank(line: Line, moments: list[int]) -> tuple[int, int]:
    """Smaller is kept sooner: near and bad, near, bad, the rest, without a time; each the nearest first."""
    if line.t is None:
        return 4, 0
    place = bisect_left(moments, line.t)
    far = min((abs(line.t - moment) for moment in moments[max(0, place - 1) : place + 1]), default=1 << 62)
    return (0 if far <= NEAR else 2) + (line.level not in BAD), far
