"""A plugin that is slow holds up no other (nomad pull request 17996: one serializer a plugin)."""

from __future__ import annotations

from collections import defaultdict

from stormpool.events import SECOND, Operation, Volume
from stormpool.history import NEVER, History, Rpc
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# How long a plugin may take to attach a volume that a task wants, while another plugin is slow: an
# agent places the task, and asks, within a second. What is slow for less than that shows nothing. And how
# soon after a slow call a volume is attached that had waited for it.
WITHIN = 5 * SECOND
CONTROLLER = frozenset({"ControllerPublishVolume", "ControllerUnpublishVolume", "DeleteVolume"})


@guarantee("plugins are independent")
def plugins_are_independent(history: History) -> Verdict:
    """While one plugin is at a controller call, the volumes of another are attached all the same.

    Judged where a call stays in a plugin for more than five seconds and a task wants a volume of another
    meanwhile, so early that it could be attached before the call ends. Attached within five seconds, it was
    not held up; attached only then, and within five seconds of the call's end, it was. Whatever comes at
    another time, or never, or to a volume that others want as well, has a reason of its own.
    """
    plugin_of = {made.volume: made.plugin for made in history.of(Volume)}
    slow = [rpc for rpc in history.rpcs(CONTROLLER) if rpc.call.sent and rpc.left - rpc.entered > WITHIN]
    attached = _attached(history)
    witnesses, judged = [], 0
    for wanted in history.of(Operation) if slow else ():
        plugin = plugin_of.get(wanted.subject)
        if wanted.name != "attach" or plugin is None or _shared(history, wanted):
            continue
        over = [rpc for rpc in slow if _holds_up(rpc, wanted, plugin)]
        at = min((t for t in attached[wanted.subject] if t > wanted.t), default=NEVER)
        late = wanted.t + WITHIN < at != NEVER
        waited_for = [rpc for rpc in over if late and rpc.left <= at < rpc.left + WITHIN]
        judged += bool(over and (waited_for or at <= wanted.t + WITHIN))
        witnesses += [_witness(wanted, at, rpc, plugin) for rpc in waited_for[:1]]
    nothing = "no task wanted a volume while another plugin was at a controller call for long"
    return plugins_are_independent.found(judged, witnesses, nothing=nothing)


def _attached(history: History) -> dict[str, list[int]]:
    """When each volume was attached."""
    found: dict[str, list[int]] = defaultdict(list)
    for rpc in history.rpcs({"ControllerPublishVolume"}):
        if rpc.done:
            found[rpc.call.volume].append(rpc.left)
    return found


def _shared(history: History, wanted: Operation) -> bool:
    """Whether somebody else was at the same volume meanwhile."""
    return any(
        other is not wanted
        and other.subject == wanted.subject
        and other.t < wanted.ended
        and other.ended > wanted.t
        for other in history.of(Operation)
    )


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
