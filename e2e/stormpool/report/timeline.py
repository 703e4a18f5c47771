"""A history as something to draw: lanes with spans on them. Pure; knows neither HTML nor colours."""

from __future__ import annotations

from dataclasses import dataclass

from stormpool.history import NEVER, Fault, History, Leader, Observed, Phase, Rpc
from stormpool.verdict import Outcome, Verdict

# Calls that only ask: they would bury the ones that do.
QUIET = ("Get", "Probe", "List", "Validate")
FIRST = ("faults", "leader")  # lanes above those of the nodes


@dataclass(frozen=True)
class Span:
    """Something that lasted."""

    lane: str
    start: int  # nanoseconds since the run began
    end: int
    label: str
    kind: str  # what it is, for its colour: a method, "task", "leader"
    told: str  # the whole of it, for whoever points at it
    marked: bool = False  # a witness


@dataclass(frozen=True)
class Timeline:
    """All there is to draw."""

    lanes: list[str]
    spans: list[Span]
    phases: list[tuple[int, str]]
    end: int


def timeline(history: History, verdicts: list[Verdict]) -> Timeline:
    """Lay a history out: leader terms, then each node's controller calls, node calls and tasks."""
    end = max((event.t for event in history.events), default=0)
    marked = {rpc for verdict in verdicts for witness in verdict.witnesses for rpc in witness.rpcs}
    spans = [
        *_terms(history, end),
        *_faults(history, end),
        *_calls(history, end, marked),
        *_tasks(history),
    ]
    phases = [(event.t, event.name) for event in history.of(Phase)]
    lanes = sorted({span.lane for span in spans}, key=lambda lane: (lane not in FIRST, lane))
    return Timeline(lanes, spans, phases, end)


def first_witness(verdicts: list[Verdict]) -> tuple[int, int] | None:
    """When the first breach was, if there was one."""
    for verdict in verdicts:
        if verdict.outcome is Outcome.INVALID and verdict.witnesses:
            return verdict.witnesses[0].start, verdict.witnesses[0].end
    return None


def _terms(history: History, end: int) -> list[Span]:
    elected = history.of(Leader)
    ends = [*(event.t for event in elected[1:]), end]
    return [
        Span("leader", event.t, until, f"{event.node}, term {event.term}", "leader", f"{event.node} led")
        for event, until in zip(elected, ends, strict=False)
    ]


def _faults(history: History, end: int) -> list[Span]:
    """How long each fault lasted: from when it was injected until it was healed."""
    events = history.of(Fault)
    healed = {event.id: event.t for event in events if event.step == "healed"}
    return [
        Span(
            "faults",
            event.t,
            healed.get(event.id, end),
            f"{event.name} {event.subject}",
            "fault",
            f"{event.name}: {event.subject}" + (f", {event.phase} call {event.rpc}" if event.rpc else ""),
        )
        for event in events
        if event.step == "injected"
    ]


def _calls(history: History, end: int, marked: set[str]) -> list[Span]:
    return [
        _call(rpc, end, rpc.call.id in marked)
        for rpc in history.rpcs()
        if not any(word in rpc.call.method for word in QUIET)
    ]


def _call(rpc: Rpc, end: int, marked: bool) -> Span:
    call = rpc.call
    code = getattr(rpc.end, "code", "no answer")
    about = call.volume if not call.target else f"{call.volume} for {call.target}"
    where = "controller" if call.method.startswith(("Controller", "Create", "Delete")) else "node"
    stop = end if rpc.left == NEVER else rpc.left
    told = f"{call.method} of {about} by {call.plugin} on {call.node}: {code}, {(stop - call.t) / 1e6:.1f} ms"
    return Span(f"{call.node} {where} calls", call.t, stop, about, call.method, told, marked)


def _tasks(history: History) -> list[Span]:
    """When each task could write to which volume, as the observers saw it."""
    spans = []
    going: dict[tuple[str, str, str], int] = {}
    for event in history.of(Observed):
        if event.settled:
            continue
        now = {
            (event.node, process.alloc, source) for process in event.processes for source in process.writes
        }
        for key in [key for key in going if key[0] == event.node and key not in now]:
            node, alloc, source = key
            told = f"allocation {alloc[:8]} could write to {source}"
            spans.append(Span(f"{node} tasks", going.pop(key), event.since, source, "task", told))
        for key in now:
            going.setdefault(key, event.t)
    return spans
