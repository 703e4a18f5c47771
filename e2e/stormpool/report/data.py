"""What the page's script draws, as JSON: columns of numbers, and every text once.

Times are whole microseconds since the run began. Every text goes through `plain`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stormpool.report.colours import colours
from stormpool.report.log import Kept, Line
from stormpool.report.plain import plain
from stormpool.report.timeline import Timeline

MICROSECOND = 1000  # in a history's unit of time


class Words:
    """Every text once; told of by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.all: list[str] = []

    def number(self, text: str) -> int:
        """The number of a text."""
        known = self._numbers.get(text)
        if known is None:
            known = self._numbers[text] = len(self.all)
            self.all.append(plain(text))
        return known


def data(drawn: Timeline, logs: Kept) -> bytes:
    """All the script needs, as JSON that can stand inside a page's element."""
    words = Words()
    whole = {
        "end": _micro(drawn.end),
        **_lanes(drawn, words),
        "spans": _spans(drawn, words),
        "breaches": _breaches(drawn, words),
        "phases": [[_micro(t), words.number(name)] for t, name in drawn.phases],
        "moments": [[_micro(t), words.number(name)] for t, name in drawn.moments],
        "log": _log(logs, words),
        "words": words.all,
    }
    # Nothing in it may end the element it stands in.
    return msgspec.json.encode(whole).replace(b"<", b"\\u003c")


def _micro(t: int) -> int:
    return t // MICROSECOND


def _lanes(drawn: Timeline, words: Words) -> dict[str, Any]:
    groups = list(dict.fromkeys(lane.group for lane in drawn.lanes))
    return {
        "groups": [words.number(group) for group in groups],
        "lanes": [[groups.index(lane.group), words.number(lane.name), lane.rows] for lane in drawn.lanes],
    }


def _spans(drawn: Timeline, words: Words) -> dict[str, Any]:
    lanes = {(lane.group, lane.name): number for number, lane in enumerate(drawn.lanes)}
    kinds = {kind: number for number, kind in enumerate(sorted({span.kind for span in drawn.spans}))}
    named = colours(kinds)
    return {
        "kinds": [[words.number(kind), named[kind]] for kind in kinds],
        "lane": [lanes[span.group, span.lane] for span in drawn.spans],
        "row": drawn.rows,
        "start": [_micro(span.start) for span in drawn.spans],
        "took": [_micro(span.end) - _micro(span.start) for span in drawn.spans],
        "kind": [kinds[span.kind] for span in drawn.spans],
        "label": [words.number(span.label) for span in drawn.spans],
        "told": [words.number(span.told) for span in drawn.spans],
        "outcome": [words.number(span.outcome) for span in drawn.spans],
        "more": [words.number(span.more) for span in drawn.spans],
        "bad": [number for number, span in enumerate(drawn.spans) if span.bad],
    }


def _breaches(drawn: Timeline, words: Words) -> list[dict[str, Any]]:
    return [
        {
            "guarantee": words.number(breach.guarantee),
            "what": words.number(breach.what),
            "start": _micro(breach.start),
            "end": _micro(breach.end),
            "nodes": [words.number(node) for node in breach.nodes],
            "spans": breach.spans,
        }
        for breach in drawn.breaches
    ]


def _log(logs: Kept, words: Words) -> dict[str, Any]:
    """The lines with a time, then those without."""
    timed = [line for line in logs.lines if line.t is not None]
    apart = [line for line in logs.lines if line.t is None]
    return {"timed": _columns(timed, words), "apart": _columns(apart, words)}


def _columns(lines: list[Line], words: Words) -> dict[str, Any]:
    return {
        "t": [_micro(line.t or 0) for line in lines],
        "source": [words.number(line.source) for line in lines],
        "level": [words.number(line.level) for line in lines],
        "text": [line.text for line in lines],  # `keep` has made them plain
    }
