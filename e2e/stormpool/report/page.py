"""A run as one HTML page that opens from disk: verdicts first, in plain words, then a timeline.

What plugins, agents and scenarios have said is untrusted: every text is escaped, nothing of it is markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from stormpool.history import SECOND, History
from stormpool.report.timeline import Span, Timeline, first_witness, timeline
from stormpool.run import About
from stormpool.verdict import Outcome, Verdict, seconds

WIDTH, LANE, LEFT = 1180, 46, 170  # pixels
MARGIN = SECOND // 2  # around a witness, in the picture of it
ROWS = 4  # of spans in a lane, where they overlap

COLOURS = {
    "ControllerPublishVolume": "#2563eb",
    "ControllerUnpublishVolume": "#0891b2",
    "CreateVolume": "#65a30d",
    "DeleteVolume": "#a16207",
    "NodeStageVolume": "#7c3aed",
    "NodePublishVolume": "#9333ea",
    "NodeUnpublishVolume": "#c084fc",
    "NodeUnstageVolume": "#a78bfa",
    "task": "#16a34a",
    "leader": "#d6d3d1",
}
OTHER = "#78716c"
WORDS = {Outcome.VALID: "held", Outcome.INVALID: "BROKEN", Outcome.UNKNOWN: "could not be judged"}

STYLE = """
:root { font: 15px/1.5 system-ui, sans-serif; color: #1c1917; background: #fafaf9 }
body { max-width: 1220px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: .25rem } h2 { font-size: 1.1rem; margin-top: 2rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: #57534e }
dd { margin: 0 } code { background: #f5f5f4; padding: .1rem .3rem; border-radius: 3px; word-break: break-all }
article { border-left: 6px solid; background: #fff; padding: .6rem 1rem; margin: .6rem 0; border-radius: 4px;
          box-shadow: 0 1px 2px #0002 }
article p { margin: .2rem 0 } .valid { border-color: #16a34a } .invalid { border-color: #dc2626 }
.unknown { border-color: #d97706 } .outcome { font-weight: 600 } .statement { color: #57534e }
.invalid .outcome { color: #dc2626 } .valid .outcome { color: #16a34a } .unknown .outcome { color: #b45309 }
svg { background: #fff; border: 1px solid #e7e5e4; border-radius: 4px; width: 100%; height: auto }
text { font: 11px system-ui, sans-serif; fill: #44403c } .label { font-size: 9px; fill: #fff }
.phase { stroke: #e7e5e4 } .marked { stroke: #dc2626; stroke-width: 2.5 }
ul { margin: .2rem 0; padding-left: 1.2rem }
"""


def page(about: About, history: History, verdicts: list[Verdict]) -> str:
    """The page of a run."""
    drawn = timeline(history, verdicts)
    witness = first_witness(verdicts)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>{escape(about.scenario)}</title><style>{STYLE}</style>",
        f"<h1>{escape(_headline(about, verdicts))}</h1>",
        _facts(about),
        *(_verdict(verdict) for verdict in verdicts),
    ]
    if about.error:
        parts.append(
            "<article class=unknown><p class=outcome>The run did not finish</p>"
            f"<p>{escape(about.error)}</p></article>"
        )
    if witness is not None:
        start, end = witness
        parts += ["<h2>The first breach</h2>", _picture(drawn, start - MARGIN, end + MARGIN)]
    parts += ["<h2>The whole run</h2>", _picture(drawn, 0, drawn.end), _legend()]
    return "\n".join(parts)


def _headline(about: About, verdicts: list[Verdict]) -> str:
    broken = [verdict.guarantee for verdict in verdicts if verdict.outcome is Outcome.INVALID]
    on = " ".join(f"{name} {version}" for name, version in about.versions.items())
    if broken:
        return f"{on} broke: {', '.join(broken)}"
    if not verdicts or any(verdict.outcome is Outcome.UNKNOWN for verdict in verdicts):
        return f"{on}: not everything could be judged"
    return f"{on}: every guarantee held"


def _facts(about: About) -> str:
    spent = ", ".join(f"{name} {took:.1f} s" for name, took in about.timings.items())
    lab = f"{about.lab.servers} servers, {about.lab.clients} clients, provider {about.provider}"
    facts = {
        "scenario": about.scenario,
        "lab": lab,
        "seed": str(about.seed),
        "started": about.started,
        "time spent": spent,
        "workload": ", ".join(f"{name} {count}" for name, count in about.operations.items()) or "none",
    }
    shown = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f"<dl>{shown}<dt>run it again</dt><dd><code>{escape(about.replay)}</code></dd></dl>"


def _verdict(verdict: Verdict) -> str:
    counted = f", {verdict.broken} times" if verdict.broken > 1 else ""
    told = [
        *(witness.what for witness in verdict.witnesses),
        *(f"told apart: {each}" for each in verdict.apart),
    ]
    items = "".join(f"<li>{escape(each)}</li>" for each in told)
    why = "" if verdict.witnesses else f"<p>{escape(verdict.why)}</p>"  # a breach's why is its first witness
    return (
        f"<article class={verdict.outcome}><p><b>{escape(verdict.guarantee)}</b> "
        f"<span class=outcome>{WORDS[verdict.outcome]}{counted}</span></p>"
        f"<p class=statement>{escape(verdict.statement)}</p>"
        f"{why}<ul>{items}</ul></article>"
    )


def _picture(drawn: Timeline, start: int, end: int) -> str:
    """The part of a timeline between two times, as SVG."""
    start, end = max(0, start), max(end, start + 1)
    scale = (WIDTH - LEFT) / (end - start)
    tops = {lane: 24 + number * LANE for number, lane in enumerate(drawn.lanes)}
    height = 30 + len(tops) * LANE
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role=img>']
    for lane, top in tops.items():
        parts.append(f"<text x=4 y={top + LANE / 2}>{escape(lane)}</text>")
        parts.append(f"<line class=phase x1=0 x2={WIDTH} y1={top + LANE - 2} y2={top + LANE - 2} />")
    for at, name in drawn.phases:
        if start <= at <= end:
            x = LEFT + (at - start) * scale
            parts.append(f"<line class=phase x1={x:.1f} x2={x:.1f} y1=0 y2={height} />")
            parts.append(f"<text x={x + 2:.1f} y=12>{escape(name)} {seconds(at)}</text>")
    shown = [span for span in drawn.spans if span.end >= start and span.start <= end]
    for span, row in _rows(shown):
        parts.append(_bar(span, row, tops[span.lane], start, end, scale))
    return "".join(parts) + "</svg>"


def _rows(spans: list[Span]) -> Iterator[tuple[Span, int]]:
    """Each span with the row of its lane it is drawn in, so that those at once stand below each other."""
    free: dict[str, list[int]] = {}
    for span in sorted(spans, key=lambda each: each.start):
        rows = free.setdefault(span.lane, [0] * ROWS)
        row = next((number for number, until in enumerate(rows) if until <= span.start), ROWS - 1)
        rows[row] = span.end
        yield span, row


def _bar(span: Span, row: int, top: int, start: int, end: int, scale: float) -> str:
    x = LEFT + (max(span.start, start) - start) * scale
    width = max((min(span.end, end) - max(span.start, start)) * scale, 1.5)
    tall = (LANE - 6) / ROWS
    y = top + row * tall
    marked = " class=marked" if span.marked else ""
    label = (
        f"<text class=label x={x + 2:.1f} y={y + tall - 2:.1f}>{escape(span.label)}</text>"
        if width > 60
        else ""
    )
    return (
        f"<g><title>{escape(span.told)}, {seconds(span.start)} to {seconds(span.end)}</title>"
        f"<rect{marked} x={x:.1f} y={y:.1f} width={width:.1f} height={tall - 1:.1f} "
        f'fill="{COLOURS.get(span.kind, OTHER)}" />{label}</g>'
    )


def _legend() -> str:
    named = "".join(
        f'<span><svg style="width:12px;height:12px;border:0" viewBox="0 0 12 12">'
        f'<rect width=12 height=12 fill="{colour}" /></svg> {kind}</span> &nbsp; '
        for kind, colour in COLOURS.items()
    )
    return f"<p>{named} &nbsp; outlined in red: the calls of a breach</p>"
