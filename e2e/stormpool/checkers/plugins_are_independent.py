"""A plugin that is slow holds up no other (nomad pull request 17996: one serializer a plugin)."""

from __future__ import annotations

from collections import defaultdict

from stormpool.history import SECOND, History, Operation, Rpc, Volume
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# How long a plugin may take to attach a volume that a task wants, while another plugin is slow: an
# agent places the task, and asks, within a second. What is slow for less than that shows nothing.
WITHIN = 5 * SECOND
CONTROLLER = frozenset({"ControllerPublishVolume", "ControllerUnpublishVolume", "DeleteVolume"})


@guarantee("plugins are independent")
def plugins_are_independent(history: History) -> Verdict:
    """While one plugin is at a controller call, the volumes of another are attached all the same.

    Judged where a call stays in a plugin for more than five seconds and a task wants a volume of another
    meanwhile, so early that it could be attached before the call ends: it must be.
    """
    plugin_of = {made.volume: made.plugin for made in history.of(Volume)}
    slow = [rpc for rpc in history.rpcs(CONTROLLER) if rpc.call.sent and rpc.left - rpc.entered > WITHIN]
    attached: dict[str, list[Rpc]] = defaultdict(list)
    for rpc in history.rpcs({"ControllerPublishVolume"}):
        if rpc.ok:
            attached[rpc.call.volume].append(rpc)
    witnesses, judged = [], 0
    for wanted in history.of(Operation):
        if wanted.name != "attach" or wanted.subject not in plugin_of:
            continue
        over = [rpc for rpc in slow if _holds_up(rpc, wanted, plugin_of[wanted.subject])]
        judged += bool(over)
        at = min((rpc.left for rpc in attached[wanted.subject] if rpc.left > wanted.t), default=wanted.ended)
        if over and at > wanted.t + WITHIN:
            witnesses.append(_witness(wanted, at, over[0], plugin_of[wanted.subject]))
    nothing = "no task wanted a volume while another plugin was at a controller call for long"
    return plugins_are_independent.found(judged, witnesses, nothing=nothing)


def _holds_up(rpc: Rpc, wanted: Operation, plugin: str) -> bool:
    """Whether a call to another plugin was under way when a volume was wanted, and for long after."""
    return rpc.call.plugin != plugin and rpc.entered <= wanted.t and rpc.left > wanted.t + WITHIN


def _witness(wanted: Operation, at: int, slow: Rpc, plugin: str) -> Witness:
    call = slow.call
    return Witness(
        f"{wanted.subject} of plugin {plugin}, wanted at {seconds(wanted.t)}, was not attached before "
        f"{seconds(at)}, while {call.method} of {call.volume} was in plugin {call.plugin} "
        f"from {seconds(slow.entered)}",
        wanted.t,
        at,
        sorted({call.node, wanted.node} - {""}),
        [call.id],
    )
