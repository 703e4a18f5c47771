"""One destructive controller call at a time (nomad pull request 17996; CSI spec, "Concurrency")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from stormpool.history import SECOND, Fault, History, Leader, Rpc
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# What agents with the fix send through their serializer (nomad/csi_endpoint.go, `serializedControllerRPC`).
SERIALIZED = frozenset(
    {
        "ControllerPublishVolume",
        "ControllerUnpublishVolume",
        "DeleteVolume",
        "CreateSnapshot",
        "DeleteSnapshot",
    }
)
# Destructive as well, and sent past it: a gap of the agent, told apart.
UNSERIALIZED = frozenset({"CreateVolume", "ControllerExpandVolume"})

# How long a server that no longer leads may go on with a controller call it had taken on (nomad,
# nomad/csi_endpoint.go: the two minutes of such a call's context).
TAKEN_ON = 120 * SECOND
# Faults that end a server's process, and with it all that it had taken on, but for a call that is on its way.
ENDING = frozenset({"KillAgent", "RestartAgent", "ChangeAgent", "CrashNode", "LoseRaft"})
ON_ITS_WAY = SECOND


@dataclass(frozen=True)
class _Change:
    """Another server, or the same one anew, won an election."""

    at: int
    until: int  # a call made before may still be of the one that led before


@guarantee("serialized controller calls")
def serialized_controller_calls(history: History) -> Verdict:
    """Destructive controller calls to one plugin never overlap within a leader's term.

    A call is in the plugin from when the tap had written it there until the tap read the answer, or until the
    caller gave it up. Told apart are two calls of which the history cannot say that one server made both, for
    a serializer is in one server's memory: one was made before a change of leader and one after, or both
    after, while the one that led before may go on with what it had taken on. It may for two minutes; not when
    a fault had ended its process, nor when it is the one that leads again. And as each serializer lets one
    call through, there are never more at once than one for each server that may be at it: what is beyond that
    is a breach at any time. What leads first changes nothing. Calls that were told apart are not counted as
    judged. Calls that agents do not serialize at all are told apart too.
    """
    calls = [rpc for rpc in history.rpcs(SERIALIZED | UNSERIALIZED) if rpc.call.sent]
    changes = _changes(history)
    witnesses: list[Witness] = []
    apart: Counter[str] = Counter()
    unjudged: set[str] = set()
    for first, second, at_once in _overlapping(calls):
        if first.call.method in UNSERIALIZED or second.call.method in UNSERIALIZED:
            apart["overlaps with a call that agents do not serialize"] += 1
        elif _across(changes, first, second, at_once):
            apart["overlaps across a change of leader"] += 1
            unjudged |= {first.call.id, second.call.id}
        else:
            witnesses.append(_witness(first, second))
    unjudged -= {name for witness in witnesses for name in witness.rpcs}
    judged = sum(1 for rpc in calls if rpc.call.method in SERIALIZED and rpc.call.id not in unjudged)
    told = [f"{count} {what}" for what, count in sorted(apart.items())]
    nothing = "no destructive controller call was recorded" + (
        " but across a change of leader" if told else ""
    )
    return serialized_controller_calls.found(judged, witnesses, nothing=nothing, apart=told)


def _overlapping(calls: Iterable[Rpc]) -> Iterator[tuple[Rpc, Rpc, int]]:
    """Every pair of calls that were in one plugin at once, and how many serialized ones then were.

    By when the plugin had them: one that was held on its way came later than it was made.
    """
    inside: dict[str, list[Rpc]] = defaultdict(list)
    for rpc in sorted(calls, key=lambda rpc: rpc.entered):
        still = inside[rpc.call.plugin]
        if still:
            still[:] = [other for other in still if other.left > rpc.entered]
        still.append(rpc)
        if len(still) > 1:
            at_once = sum(1 for each in still if each.call.method in SERIALIZED)
            for other in still[:-1]:
                yield other, rpc, at_once


def _changes(history: History) -> list[_Change]:
    """Every change of leader: the first that is told of led from the begin."""
    found = []
    for before, after in pairwise(history.of(Leader)):
        if (before.node, before.term) != (after.node, after.term):
            gone = before.node == after.node or _ended(history, before, after)
            found.append(_Change(after.t, after.t + (ON_ITS_WAY if gone else TAKEN_ON)))
    return found


def _ended(history: History, before: Leader, after: Leader) -> bool:
    """Whether a fault ended the process that led before, while it did."""
    return any(
        fault.step == "injected" and fault.name in ENDING and before.node in fault.subject.split(", ")
        for fault in history.of(Fault)
        if before.t < fault.t < after.t
    )


def _across(changes: list[_Change], first: Rpc, second: Rpc, at_once: int) -> bool:
    """Whether two servers may have made two calls."""
    earlier, later = sorted((first.call.t, second.call.t))
    if any(earlier < change.at <= later for change in changes):
        return True
    serializers = 1 + sum(1 for change in changes if change.at <= later < change.at + TAKEN_ON)
    return at_once <= serializers and any(change.at <= earlier < change.until for change in changes)


def _witness(first: Rpc, second: Rpc) -> Witness:
    one, other = first.call, second.call
    start, end = second.entered, min(first.left, second.left)
    return Witness(
        f"{one.method} of {one.volume} (by the controller on {one.node}) and "
        f"{other.method} of {other.volume} (by the one on {other.node}) "
        f"were both in plugin {one.plugin} from {seconds(start)} to {seconds(end)}",
        start,
        end,
        sorted({one.node, other.node}),
        [one.id, other.id],
    )
