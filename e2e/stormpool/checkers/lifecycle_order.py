"""The order in which a volume is published, staged, used and taken down (CSI spec, "Volume Lifecycle")."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from stormpool.checkers.csi_nodes import csi_nodes, node_of
from stormpool.events import Call, Down, Gone, Member, Reply
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


class Is(Enum):
    """What is known of a step: only what was answered with OK is sure."""

    DONE = "done"
    NOT = "not done"
    MAYBE = "unsure"  # a call about it failed, goes on, or was cut off


@dataclass
class _Place:
    """One volume on one node."""

    published: Is = Is.NOT
    context: str | None = None  # what ControllerPublishVolume gave
    staged: dict[str, Is] = field(default_factory=dict)  # by staging path
    targets: dict[str, tuple[Is, str]] = field(default_factory=dict)  # target path → state, staging path


@dataclass
class _Plugin:
    """What is known of one plugin."""

    attaches: bool = False  # it has ControllerPublishVolume
    stages: bool = False  # it has NodeStageVolume
    places: dict[tuple[str, str], _Place] = field(default_factory=lambda: defaultdict(_Place))
    volume_context: dict[str, str | None] = field(default_factory=dict)
    staged_at: dict[tuple[str, str], str] = field(default_factory=dict)  # node, staging path → volume


class _Step(msgspec.Struct):  # made faster than a dataclass, and there is one a call
    """A call that is going on, with what it is about."""

    call: Call
    plugin: _Plugin
    place: _Place
    node: str
    undoes: bool = False  # it takes down what was up when it began


STAGING, TARGET = "staging_target_path", "target_path"  # fields of the node service's requests
TELLING = frozenset({"ControllerGetCapabilities", "NodeGetCapabilities", "CreateVolume"})


@guarantee("lifecycle order")
def lifecycle_order(history: History) -> Verdict:
    """A volume goes through its life on a node in order: attach, stage, publish, unpublish, unstage, detach.

    No call is made before the step it needs was answered with OK; nothing is unstaged while a task's target
    uses it or is about to, or detached while it is staged, being staged or being unstaged, unless its node
    was lost; one staging path holds one volume; the context the plugin gave at create and attach arrives
    unaltered. What a failed or unanswered call left behind is unsure, and breaks nothing. A node that went
    down has nothing staged or published any more.
    """
    order = _Order(history)
    order.follow(history)
    told = [f"{count} {what}" for what, count in sorted(order.apart.items())]
    return lifecycle_order.found(
        order.judged, order.witnesses, nothing="no volume was attached, staged or published", apart=told
    )


class _Order:
    """The state of every volume on every node, as the calls and answers went by."""

    def __init__(self, history: History) -> None:
        self.judged = 0
        self.witnesses: list[Witness] = []
        self.apart: Counter[str] = Counter()
        self._plugins: dict[str, _Plugin] = defaultdict(_Plugin)
        self._open: dict[str, _Step] = {}
        self._down: set[str] = set()
        self._nodes = csi_nodes(history)
        self._learn_capabilities(history)

    def follow(self, history: History) -> None:
        """Everything that happened, in the order of its times."""
        opened = self._open
        for event in history.events:
            if type(event) is Call:
                if event.method in CHECKS:
                    self._begin(event)
            elif type(event) is Reply:
                step = opened.pop(event.id, None)
                # What the agent was told, whatever the plugin had said: it must not rely on more.
                if step is not None and event.code == "OK" and event.told:
                    CONCLUSIONS[step.call.method](step, event)
            elif type(event) is Gone:
                opened.pop(event.id, None)
            elif type(event) is Member:
                (self._down.discard if event.status == "ready" else self._down.add)(event.node)
            elif type(event) is Down:
                self._forget(event.node)

    def _forget(self, node: str) -> None:
        """A node went down: nothing is staged or published on it any more; what is attached to it stays."""
        for plugin in self._plugins.values():
            for (_, where), place in plugin.places.items():
                if where == node:
                    place.staged.clear()
                    place.targets.clear()
            for key in [key for key in plugin.staged_at if key[0] == node]:
                del plugin.staged_at[key]
        for name in [name for name, step in self._open.items() if step.call.node == node]:
            del self._open[name]

    def _learn_capabilities(self, history: History) -> None:
        """What each plugin says it can do, at any time of the run: an agent must not rely on less."""
        for rpc in history.rpcs(TELLING):
            if type(rpc.end) is not Reply or not rpc.ok:
                continue
            plugin, said = self._plugins[rpc.call.plugin], rpc.end.result
            match rpc.call.method:
                case "ControllerGetCapabilities":
                    plugin.attaches |= '"PUBLISH_UNPUBLISH_VOLUME"' in said.get("capabilities", "")
                case "NodeGetCapabilities":
                    plugin.stages |= '"STAGE_UNSTAGE_VOLUME"' in said.get("capabilities", "")
                case "CreateVolume":
                    made = _read(said.get("volume", "{}"))
                    if isinstance(made, dict):
                        plugin.volume_context[rpc.call.volume] = _plain(made.get("volume_context"))

    def _begin(self, call: Call) -> None:
        self.judged += 1
        plugin = self._plugins[call.plugin]
        node = node_of(call, self._nodes)
        step = _Step(call, plugin, plugin.places[call.volume, node], node)
        CHECKS[call.method](self, step)
        self._open[call.id] = step

    def attach(self, step: _Step) -> None:
        """ControllerPublishVolume needs nothing."""
        if step.place.published is Is.NOT:
            step.place.published = Is.MAYBE

    def stage(self, step: _Step) -> None:
        """NodeStageVolume needs the volume attached, its contexts, and a staging path that is free."""
        call, plugin, place = step.call, step.plugin, step.place
        path = call.args.get(STAGING, "")
        self._needs_attach(step)
        given, created = _plain(call.args.get("publish_context")), plugin.volume_context.get(call.volume)
        if place.published is Is.DONE and given is not None and place.context not in (None, given):
            self._broken(step, f"its publish context was {given}, and the plugin gave {place.context}")
        told = _plain(call.args.get("volume_context"))
        if created is not None and told not in (None, created):
            self._broken(step, f"its volume context was {told}, and the plugin gave {created}")
        held = plugin.staged_at.get((step.node, path), call.volume)
        if held != call.volume:
            self._broken(step, f"its staging path {path} held {held}")
        place.staged[path] = Is.MAYBE

    def publish(self, step: _Step) -> None:
        """NodePublishVolume needs the volume staged where it says, or attached where nothing is staged."""
        args, place = step.call.args, step.place
        path = args.get(STAGING, "")
        if not step.plugin.stages:
            self._needs_attach(step)
        elif place.staged.get(path, Is.NOT) is Is.NOT:
            self._broken(step, f"it was not staged at {path or 'any path'}")
        place.targets[args.get(TARGET, "")] = (Is.MAYBE, path)

    def unpublish(self, step: _Step) -> None:
        """NodeUnpublishVolume needs nothing."""

    def unstage(self, step: _Step) -> None:
        """NodeUnstageVolume needs every target of that staging path unpublished, and none being published."""
        place, path = step.place, step.call.args.get(STAGING, "")
        used = [
            f"still published at {target}"
            for target, (state, staging) in place.targets.items()
            if state is Is.DONE and staging in ("", path)
        ]
        used += [
            f"being published at {other.call.args.get(TARGET, '')}"
            for other in self._open.values()
            if other.place is place
            and other.call.method == "NodePublishVolume"
            and other.call.args.get(STAGING, "") == path
        ]
        if used:
            self._broken(step, f"it was {', '.join(used)}")
        step.undoes = place.staged.get(path) is Is.DONE
        place.staged[path] = Is.MAYBE

    def detach(self, step: _Step) -> None:
        """ControllerUnpublishVolume needs the volume unstaged and no staging or publishing under way."""
        place = step.place
        used = [f"still staged at {path}" for path, state in place.staged.items() if state is Is.DONE]
        used += [
            f"in the middle of {other.call.method}"
            for other in self._open.values()
            if other.place is place
            and (other.undoes or other.call.method in ("NodeStageVolume", "NodePublishVolume"))
        ]
        if used and step.node in self._down:
            self.apart["volumes detached from a node that was lost, while staged there"] += 1
        elif used:
            self._broken(step, f"it was {', '.join(used)}")
        place.published = Is.MAYBE

    def _needs_attach(self, step: _Step) -> None:
        if step.plugin.attaches and step.place.published is Is.NOT:
            self._broken(step, f"it was not attached to {step.node}")

    def _broken(self, step: _Step, why: str) -> None:
        call = step.call
        what = f"{call.method} of {call.volume} on {step.node} at {seconds(call.t)}: {why}"
        self.witnesses.append(Witness(what, call.t, call.t, [step.node], [call.id]))


CHECKS: dict[str, Callable[[_Order, _Step], None]] = {
    "ControllerPublishVolume": _Order.attach,
    "NodeStageVolume": _Order.stage,
    "NodePublishVolume": _Order.publish,
    "NodeUnpublishVolume": _Order.unpublish,
    "NodeUnstageVolume": _Order.unstage,
    "ControllerUnpublishVolume": _Order.detach,
}


def _attached(step: _Step, reply: Reply) -> None:
    step.place.published, step.place.context = Is.DONE, _plain(reply.result.get("publish_context"))


def _staged(step: _Step, _: Reply) -> None:
    path = step.call.args.get(STAGING, "")
    step.place.staged[path] = Is.DONE
    step.plugin.staged_at[step.node, path] = step.call.volume


def _published(step: _Step, _: Reply) -> None:
    step.place.targets[step.call.args.get(TARGET, "")] = (Is.DONE, step.call.args.get(STAGING, ""))


def _unpublished(step: _Step, _: Reply) -> None:
    step.place.targets.pop(step.call.args.get(TARGET, ""), None)


def _unstaged(step: _Step, _: Reply) -> None:
    path = step.call.args.get(STAGING, "")
    step.place.staged[path] = Is.NOT
    step.plugin.staged_at.pop((step.node, path), None)


def _detached(step: _Step, _: Reply) -> None:
    step.place.published = Is.NOT


# What is known once a call was answered with OK; any other end leaves it unsure, as the call has made it.
CONCLUSIONS: dict[str, Callable[[_Step, Reply], None]] = {
    "ControllerPublishVolume": _attached,
    "NodeStageVolume": _staged,
    "NodePublishVolume": _published,
    "NodeUnpublishVolume": _unpublished,
    "NodeUnstageVolume": _unstaged,
    "ControllerUnpublishVolume": _detached,
}


def _plain(context: object) -> str | None:
    """A context as text that can be compared, whether it came as JSON text or as a dict; none is empty.

    None for one that cannot be read: histories of before hold contexts that were cut.
    """
    if not context:
        return "{}"
    shown = _read(context) if isinstance(context, str) else context
    return None if shown is None else json.dumps(shown, sort_keys=True)


def _read(text: str) -> object:
    """JSON of a history; None when it was cut."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
