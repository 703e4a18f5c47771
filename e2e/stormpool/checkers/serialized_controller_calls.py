"""One destructive controller call at a time (nomad pull request 17996; CSI spec, "Concurrency")."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest

from stormpool.events import SECOND, Fault, Leader
from stormpool.history import NEVER, History, Rpc
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
ENDING = frozenset({"KillAgent", "RestartAgent", "ChangeAgent", "CrashNode", "LoseRaft", "PanicNode"})
ON_ITS_WAY = SECOND

Server = tuple[str, int, int]  # one life of a server: its node, how often it was ended, and followed itself


@dataclass(frozen=True)
class _Term:
    """A server led: a call made from `since` on, and before `until`, may be its."""

    server: Server
    since: int
    until: int


@guarantee("serialized controller calls")
def serialized_controller_calls(history: History) -> Verdict:
    """Destructive controller calls to one plugin never overlap within a leader's term.

    A call is in the plugin from when the tap had written it there until the tap read the answer, or until the
    caller gave it up. Told apart are two calls of which the history cannot say that one server made both, for
    a serializer is in one server's memory: one was made before a change of leader and one after, or both
    after, while the one that led before may go on with what it had taken on. It may for two minutes; not when
    a fault had ended its process, nor when it is the one that leads again. And as each serializer lets one
    call through, there are never more at once than one for each server that may have made any of them: what
    is beyond that is a breach at any time, and one that led twice is one server. What leads first changes
    nothing. Calls that were told apart are not counted as judged. Calls that agents do not serialize at all
    are told apart too.
    """
    calls = [rpc for rpc in history.rpcs(SERIALIZED | UNSERIALIZED) if rpc.call.sent]
    terms = _terms(history)
    witnesses: list[Witness] = []
    apart: Counter[str] = Counter()
    unjudged: set[str] = set()
    for first, second, inside in _overlapping(calls):
        if first.call.method in UNSERIALIZED or second.call.method in UNSERIALIZED:
            apart["overlaps with a call that agents do not serialize"] += 1
        elif _by_several(terms, [first, second]) and _by_several(terms, inside):
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


def _overlapping(calls: Iterable[Rpc]) -> Iterator[tuple[Rpc, Rpc, list[Rpc]]]:
    """Every pair of calls that were in one plugin at once, and all the serialized ones that then were.

    By when the plugin had them: one that was held on its way came later than it was made.
    """
    inside: dict[str, list[Rpc]] = defaultdict(list)
    for rpc in sorted(calls, key=lambda rpc: rpc.entered):
        still = inside[rpc.call.plugin]
        if still:
            still[:] = [other for other in still if other.left > rpc.entered]
        still.append(rpc)
        if len(still) > 1:
            serialized = [each for each in still if each.call.method in SERIALIZED]
            for other in still[:-1]:
                yield other, rpc, serialized


def _terms(history: History) -> list[_Term]:
    """Who led when: the first that is told of led from the begin."""
    ended = [fault for fault in history.of(Fault) if fault.step == "injected" and fault.name in ENDING]
    leaders = [next(told) for _, told in groupby(history.of(Leader), lambda each: (each.node, each.term))]
    again: Counter[str] = Counter()
    found: list[_Term] = []
    for before, after in zip_longest(leaders, leaders[1:]):
        ends = [fault.t for fault in ended if before.node in fault.subject.split(", ")]
        server = before.node, sum(1 for t in ends if t < before.t), again[before.node]
        until = NEVER
        if after is not None:
            again[before.node] += before.node == after.node
            until = _goes_on_until(before, after, ends)
        found.append(_Term(server, before.t if found else -NEVER, until))
    return found


def _goes_on_until(before: Leader, after: Leader, ends: Iterable[int]) -> int:
    """How long one that led may go on: `ends` are the times at which faults ended its process."""
    gone = after.t if before.node == after.node else min((t for t in ends if t > before.t), default=NEVER)
    return min(after.t + TAKEN_ON, max(after.t, gone) + ON_ITS_WAY)


def _by_several(terms: Iterable[_Term], calls: Collection[Rpc]) -> bool:
    """Whether there are as many servers that may have made these calls as there are calls."""
    made = [rpc.call.t for rpc in calls]
    servers = {term.server for term in terms for t in made if term.since <= t < term.until}
    return len(servers) >= len(made)


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
