"""A run as one HTML page that opens from disk: verdicts first, in plain words, then a timeline with the logs.

What plugins, agents and scenarios have said is untrusted: every text is made plain and escaped, nothing of it
is markup. The page may load nothing and run nothing but its own script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from html import escape

from stormpool.events import SECOND
from stormpool.history import History
from stormpool.leaks.event import event_of
from stormpool.report import datasets, faults
from stormpool.report.data import data
from stormpool.report.log import Kept
from stormpool.report.picture import picture
from stormpool.report.plain import plain
from stormpool.report.timeline import Timeline, timeline
from stormpool.run import About
from stormpool.verdict import Outcome, Verdict, seconds

LONGEST = 4000  # characters of an error, and of the line that runs it again
CELL = 160  # characters of a table's cell
MARGIN = SECOND // 2  # around a breach, in the picture of it
WORDS = {Outcome.VALID: "held", Outcome.INVALID: "BROKEN", Outcome.UNKNOWN: "could not be judged"}
SHOWN = 2  # breaches of a guarantee that are told at once; the rest unfolds
ORDER = (Outcome.INVALID, Outcome.UNKNOWN, Outcome.VALID)


@dataclass(frozen=True)
class Dress:
    """The page's own script and style."""

    script: str
    style: str


@dataclass(frozen=True)
class Judgement:
    """What is known of a run: what was asked for, what happened, what was judged."""

    about: About
    history: History
    verdicts: list[Verdict]

    @cached_property
    def drawn(self) -> Timeline:
        """The timeline of it."""
        return timeline(self.history, self.verdicts)


def page(judgement: Judgement, logs: Kept, dress: Dress) -> str:
    """The page of a run."""
    about, verdicts, drawn = judgement.about, judgement.verdicts, judgement.drawn
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(dress)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(headline(about, verdicts))}</title><style>{dress.style}</style></head><body>",
        _top(about, verdicts, drawn),
        '<div class="facts">',
        f'<section class="verdicts" aria-label="verdicts">{_verdicts(verdicts)}</section>',
        _facts(about),
        "</div>",
        _faults(judgement.history),
        datasets.section(judgement.history, event_of(about.scenario)),
        LIVE,
        _left_out(logs),
        _still(drawn),
        f'<script type="application/json" id="data">{data(drawn, logs).decode()}</script>',
        f"<script>{dress.script}</script></body></html>",
    ]
    return "\n".join(parts)


def headline(about: About, verdicts: list[Verdict]) -> str:
    """What a run came to, in one line."""
    broken = [verdict.guarantee for verdict in verdicts if verdict.outcome is Outcome.INVALID]
    on = " ".join(f"{name} {version}" for name, version in about.versions.items())
    if broken:
        return f"{on} broke: {', '.join(broken)}"
    if about.error:
        return f"{on}: the run did not finish"
    if not verdicts or any(verdict.outcome is Outcome.UNKNOWN for verdict in verdicts):
        return f"{on}: not everything could be judged"
    return f"{on}: every guarantee held"


def outcome(about: About, verdicts: list[Verdict]) -> Outcome:
    """What the whole page is about; a run that did not finish is never green."""
    seen = {verdict.outcome for verdict in verdicts} or {Outcome.UNKNOWN}
    return next(each for each in ORDER if each in seen | ({Outcome.UNKNOWN} if about.error else set()))


def _text(text: str) -> str:
    return escape(plain(text))


def _policy(dress: Dress) -> str:
    """Nothing may be loaded, and nothing run or applied but these two, by their hashes."""
    script, style = (
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()
        for each in (dress.script, dress.style)
    )
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{script}'",
        f"style-src 'sha256-{style}'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    )
    return escape("; ".join(rules))


def _top(about: About, verdicts: list[Verdict], drawn: Timeline) -> str:
    """What broke, when and by whom, before anything else."""
    worst = outcome(about, verdicts)
    parts = [
        f'<header class="{worst}"><p class="kicker">{_text(about.scenario)}</p>',
        f"<h1>{_text(headline(about, verdicts))}</h1>",
    ]
    for first in drawn.breaches[:1]:
        who = f", on {_text(', '.join(first.nodes))}" if first.nodes else ""
        when = seconds(first.start) + (f" to {seconds(first.end)}" if first.end > first.start else "")
        parts.append(f'<p class="first"><b>First at {when}{who}:</b> {_text(first.what)}</p>')
    if about.error:
        parts.append(
            f'<p class="first"><b>The run did not finish:</b> {escape(plain(about.error, 4000))}</p>'
        )
    return "".join(parts) + "</header>"


def _facts(about: About) -> str:
    spent = ", ".join(f"{name} {took:.1f} s" for name, took in about.timings.items())
    lab = f"{about.lab.servers} servers, {about.lab.clients} clients, provider {about.provider}"
    plugins = ", ".join(plugin.id for plugin in about.lab.plugins)
    shown = {
        **about.versions,
        "seed": str(about.seed),
        "lab": lab + (f", plugins {plugins}" if plugins else ""),
        "started": about.started,
        "workload": ", ".join(f"{name} {count}" for name, count in about.operations.items()) or "none",
        "time spent": spent,
    }
    items = "".join(
        f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in shown.items() if value
    )
    return (
        f'<aside aria-label="facts"><dl>{items}<dt>run it again</dt><dd><code id="replay">'
        f"{escape(plain(about.replay, LONGEST))}</code> "
        '<button id="copy" class="live" type="button">copy</button></dd></dl></aside>'
    )


def _verdicts(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return '<article class="unknown"><p class="outcome">No guarantee was judged</p></article>'
    return "".join(_verdict(each) for each in sorted(verdicts, key=lambda each: ORDER.index(each.outcome)))


def _verdict(verdict: Verdict) -> str:
    counted = f", {verdict.broken} times in {verdict.judged}" if verdict.broken > 1 else ""
    told = [
        *(witness.what for witness in verdict.witnesses),
        *(f"told apart: {each}" for each in verdict.apart),
    ]
    more = verdict.broken - len(verdict.witnesses)
    told += [f"and {more} more, as the history tells"] if more > 0 else []
    why = "" if verdict.witnesses else f'<p class="why">{_text(verdict.why)}</p>'
    state = "" if verdict.outcome is Outcome.VALID else " open"
    return (
        f'<article class="{verdict.outcome}"><details{state}><summary><b>{_text(verdict.guarantee)}</b> '
        f'<span class="outcome">{WORDS[verdict.outcome]}{counted}</span></summary>'
        f'<p class="statement">{_text(verdict.statement)}</p>'
        f"{why}{_items(told[:SHOWN])}{_rest(told[SHOWN:])}</details></article>"
    )


def _items(told: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{_text(each)}</li>' for each in told)}</ul>" if told else ""


def _rest(told: list[str]) -> str:
    """What would push the timeline out of sight."""
    return f"<details><summary>more of it</summary>{_items(told)}</details>" if told else ""


def _faults(history: History) -> str:
    told = faults.table(history)
    if not told:
        return ""
    rows = "".join(_fault(each) for each in told)
    return (
        '<section class="faults"><h2>Faults</h2><table><thead><tr><th>fault<th>at whom<th>at what'
        f"<th>injected<th>healed<th>came to</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _fault(told: faults.Told) -> str:
    came = f"failed: {told.failed}" if told.failed else "injected" if told.injected else "never came up"
    cells = [told.name, told.subject, told.moment, _when(told.injected), _when(told.healed), came]
    state = "injected" if told.injected is not None and not told.failed else "missed"
    return (
        f'<tr class="{state}">' + "".join(f"<td>{escape(plain(cell, CELL))}</td>" for cell in cells) + "</tr>"
    )


def _when(t: int | None) -> str:
    return "" if t is None else seconds(t)


def _left_out(logs: Kept) -> str:
    """How much of the logs is not in the page, and where it is."""
    told = []
    if logs.left_out:
        told.append(
            f"{logs.left_out:,} of {logs.left_out + len(logs.lines):,} log lines are left out: those near "
            "breaches and faults were kept first, then warnings and errors, then the rest"
        )
    if logs.unread:
        told.append(f"{logs.unread / 1e6:,.0f} MB of the logs were not read")
    return f'<p class="note">{"; ".join(told)}. All of it: {_text(logs.where)}</p>' if told else ""


def _still(drawn: Timeline) -> str:
    """Pictures that need no script: the first breach and the whole run."""
    parts = ['<section class="still">']
    for first in drawn.breaches[:1]:
        close = picture(drawn, first.start - MARGIN, first.end + MARGIN)
        parts.append(f"<h2>The first breach</h2>{close}")
    parts.append(f"<h2>The whole run</h2>{picture(drawn, 0, drawn.end)}")
    parts.append('<p class="note">outlined in red: the calls of a breach</p></section>')
    return "".join(parts)


def _button(name: str, label: str, told: str) -> str:
    return f'<button type="button" id="{name}" title="{told}" aria-label="{told}">{label}</button>'


def _live(buttons: Iterable[str]) -> str:
    return (
        '<main class="live"><section class="time"><div class="bar">'
        + "".join(buttons)
        + '<output id="window"></output></div><p id="breach"></p>'
        '<div id="stage"><canvas id="canvas" tabindex="0" role="application" '
        'aria-label="timeline; arrows pan, plus and minus zoom, 0 shows all, n goes to the next breach">'
        '</canvas><div id="spacer"></div></div><div id="legend"></div></section>'
        '<section class="logs"><div class="bar"><input id="filter" type="search" '
        'placeholder="filter the logs" aria-label="filter the logs">'
        '<select id="source" aria-label="source"></select>'
        '<select id="level" aria-label="level"><option value="">all levels</option>'
        '<option value="bad">warnings, errors</option></select>'
        '<label><input id="follow" type="checkbox" checked> follow</label>'
        '<output id="count"></output></div>'
        '<div id="log" tabindex="0" aria-label="log lines"><div id="lines"></div></div>'
        '<div id="pinned" hidden></div></section></main><div id="tip" hidden></div>'
    )


LIVE = _live(
    [
        _button("previous", "&lsaquo;", "the breach before"),
        _button("next", "next breach &rsaquo;", "the next breach (n)"),
        _button("whole", "whole run", "the whole run (0)"),
        _button("out", "&minus;", "zoom out (-)"),
        _button("in", "+", "zoom in (+)"),
    ]
)
