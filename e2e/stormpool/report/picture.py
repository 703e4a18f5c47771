"""A part of a timeline as SVG: what is printed, and what is there when scripts are off."""

from __future__ import annotations

from html import escape
from itertools import groupby

from stormpool.report.colours import colours
from stormpool.report.plain import plain
from stormpool.report.span import Span
from stormpool.report.timeline import Lane, Timeline
from stormpool.verdict import seconds

WIDTH, LEFT = 1180, 190  # pixels
ROW, GAP, TOP = 14, 8, 28
NARROWEST = 1.5  # pixels of a span, however short it was
WIDE = 60  # pixels from which a span bears its label
LETTER = 5.2  # pixels of one, about
NAME = 26  # characters of a lane's name that fit


def picture(drawn: Timeline, start: int, end: int) -> str:
    """The part between two times, in nanoseconds since the run began."""
    start, end = max(0, start), max(end, start + 1)
    shown = [
        (span, row, number in drawn.marked)
        for number, (span, row) in enumerate(zip(drawn.spans, drawn.rows, strict=True))
        if span.end >= start and span.start <= end
    ]
    used = {(span.group, span.lane) for span, _, _ in shown}
    tops, height = _tops([lane for lane in drawn.lanes if (lane.group, lane.name) in used])
    scale = (WIDTH - LEFT) / (end - start)
    named = colours(span.kind for span in drawn.spans)
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="the timeline">']
    parts += _frame(tops, height)
    parts += _moments(drawn, start, end, scale, height)
    last: dict[tuple[str, str, int], float] = {}
    for span, row, marked in shown:
        x = LEFT + (max(span.start, start) - start) * scale
        width = max((min(span.end, end) - max(span.start, start)) * scale, NARROWEST)
        if x + width <= last.get((span.group, span.lane, row), 0) + NARROWEST / 2 and not marked:
            continue  # it would not be seen
        last[span.group, span.lane, row] = x + width
        y = tops[span.group, span.lane] + row * ROW
        parts.append(_bar(span, x, y, width, named[span.kind], marked))
    return "".join(parts) + "</svg>"


def _tops(lanes: list[Lane]) -> tuple[dict[tuple[str, str], int], int]:
    """Where each lane begins, and how high they are together."""
    tops, y = {}, TOP
    for _, group in groupby(lanes, key=lambda lane: lane.group):
        y += GAP
        for lane in group:
            tops[lane.group, lane.name] = y
            y += lane.rows * ROW + 4
    return tops, y + GAP


def _frame(tops: dict[tuple[str, str], int], height: int) -> list[str]:
    parts = []
    for (group, name), y in tops.items():
        shown = escape(plain(f"{group} · {name}", 80)[:NAME])
        parts.append(f'<text x="4" y="{y + 10}">{shown}</text>')
        parts.append(f'<line class="rule" x1="0" x2="{WIDTH}" y1="{y - 3}" y2="{y - 3}"/>')
    parts.append(f'<line class="rule" x1="{LEFT}" x2="{LEFT}" y1="0" y2="{height}"/>')
    return parts


def _moments(drawn: Timeline, start: int, end: int, scale: float, height: int) -> list[str]:
    """The first breach as a band, phases and faults as lines across all lanes."""
    parts = []
    free = {"phase": 0.0, "injected": 0.0}  # up to where names stand
    for breach in drawn.breaches[:1]:
        if breach.end >= start and breach.start <= end:
            x = LEFT + (max(breach.start, start) - start) * scale
            width = max((min(breach.end, end) - max(breach.start, start)) * scale, 2)
            parts.append(f'<rect class="band" x="{x:.1f}" y="0" width="{width:.1f}" height="{height}"/>')
    for kind, at, name in [
        *(("phase", t, name) for t, name in drawn.phases),
        *(("injected", t, name) for t, name in drawn.moments),
    ]:
        if start <= at <= end:
            x = LEFT + (at - start) * scale
            told = escape(f"{plain(name)} {seconds(at)}")
            parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>')
            if x < free[kind]:
                continue  # its name would stand in another
            parts.append(f'<text x="{x + 3:.1f}" y="{10 if kind == "phase" else 22}">{told}</text>')
            free[kind] = x + (len(told) + 2) * LETTER
    return parts


def _bar(span: Span, x: float, y: float, width: float, colour: str, marked: bool) -> str:
    told = escape(f"{plain(span.told)}: {plain(span.outcome)}, {seconds(span.start)} to {seconds(span.end)}")
    classes = f"c-{colour}" + (" marked" if marked else "")
    label = ""
    if width > WIDE:
        fits = escape(plain(span.label)[: int(width / LETTER)])
        label = f'<text class="label" x="{x + 3:.1f}" y="{y + ROW - 4}">{fits}</text>'
    return (
        f'<g><title>{told}</title><rect class="{classes}" x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{ROW - 2}"/>{label}</g>'
    )
