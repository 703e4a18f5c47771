"""Nodes, as spans: what the servers held them and their plugins for, and which tasks could write to what."""

from __future__ import annotations

from dataclasses import replace

from stormpool.events import Member, Observed, PluginView
from stormpool.history import History
from stormpool.report.span import Span


def nodes(history: History, end: int) -> list[Span]:
    """Status, plugins' health and tasks of every node."""
    return [*_status(history, end), *_health(history, end), *_tasks(history, end)]


def _status(history: History, end: int) -> list[Span]:
    """What the servers held each client for, until they held it for something else."""
    spans: list[Span] = []
    last: dict[str, int] = {}  # node → its span that goes on
    for event in history.of(Member):
        if event.node in last:
            spans[last[event.node]] = replace(spans[last[event.node]], end=event.t)
        last[event.node] = len(spans)
        label = event.status if event.eligible else f"{event.status}, not eligible"
        told = f"the servers held {event.node} for {label}"
        well = event.status == "ready"
        kind = "ready" if well else "down"
        spans.append(Span(event.node, "status", event.t, end, label, kind, told, bad=not well))
    return spans


def _health(history: History, end: int) -> list[Span]:
    """Which controllers the servers held for healthy; a client that was never named goes by its id."""
    names = {event.client_id: event.node for event in history.of(Member)}
    spans: list[Span] = []
    going: dict[tuple[str, str], tuple[bool, int]] = {}
    for event in history.of(PluginView):
        gone = [client for plugin, client in going if plugin == event.plugin]
        now = {**dict.fromkeys(gone, False), **event.controllers}
        for client, well in now.items():
            key = (event.plugin, client)
            before, since = going.get(key, (well, event.t))
            if before != well:
                spans.append(_controller(event.plugin, names.get(client, client[:8]), before, since, event.t))
            going[key] = (well, since if before == well else event.t)
    return spans + [
        _controller(plugin, names.get(client, client[:8]), well, since, end)
        for (plugin, client), (well, since) in going.items()
    ]


def _controller(plugin: str, node: str, well: bool, start: int, end: int) -> Span:
    kind = "healthy" if well else "unhealthy"
    told = f"the servers held the controller of {plugin} on {node} for {kind}"
    return Span(node, "status", start, end, f"{plugin} {kind}", kind, told, bad=not well)


def _tasks(history: History, end: int) -> list[Span]:
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
            spans.append(_task(key, going.pop(key), event.since))
        for key in now:
            going.setdefault(key, event.t)
    return spans + [_task(key, since, end) for key, since in going.items()]


def _task(key: tuple[str, str, str], start: int, end: int) -> Span:
    node, alloc, source = key
    told = f"allocation {alloc} could write to {source} on {node}"
    return Span(node, "tasks", start, max(start, end), source, "task", told)
