"""One destructive controller call at a time (nomad pull request 17996; CSI spec, "Concurrency")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from stormpool.history import SECOND, History, Leader, Rpc
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


@guarantee("serialized controller calls")
def serialized_controller_calls(history: History) -> Verdict:
    """Destructive controller calls to one plugin never overlap within a leader's term.

    A call is in the plugin from when the tap had written it there until the tap read the answer, or until the
    caller gave it up. Calls that overlap across a change of leader are told apart, for a serializer is in one
    server's memory, and one that led before may go on for two minutes with what it had taken on; so are calls
    that agents do not serialize at all.
    """
    calls = [rpc for rpc in history.rpcs(SERIALIZED | UNSERIALIZED) if rpc.call.sent]
    begun = calls[0].call.t if calls else 0
    changes = [event.t for event in history.of(Leader) if event.t > begun]
    witnesses: list[Witness] = []
    apart: Counter[str] = Counter()
    for first, second in _overlapping(calls):
        if first.call.method in UNSERIALIZED or second.call.method in UNSERIALIZED:
            apart["overlaps with a call that agents do not serialize"] += 1
        elif _across(changes, first, second):
            apart["overlaps across a change of leader"] += 1
        else:
            witnesses.append(_witness(first, second))
    judged = sum(1 for rpc in calls if rpc.call.method in SERIALIZED)
    told = [f"{count} {what}" for what, count in sorted(apart.items())]
    return serialized_controller_calls.found(
        judged, witnesses, nothing="no destructive controller call was recorded", apart=told
    )


def _overlapping(calls: list[Rpc]) -> Iterator[tuple[Rpc, Rpc]]:
    """Every pair of calls that were in one plugin at once; `calls` are in the order of their times."""
    inside: dict[str, list[Rpc]] = defaultdict(list)
    for rpc in calls:
        entered = rpc.call.sent
        still = inside[rpc.call.plugin]
        if still:
            still[:] = [other for other in still if other.left > entered]
            for other in still:
                yield other, rpc
        still.append(rpc)


def _across(changes: list[int], first: Rpc, second: Rpc) -> bool:
    """Whether the leader changed between two calls, or so shortly before that the last may have made one."""
    return any(first.call.t - TAKEN_ON < change <= second.call.t for change in changes)


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
