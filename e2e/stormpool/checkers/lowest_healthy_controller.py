"""Which instance of a controller an agent asks (nomad pull request 17996; broken until issue 26640's fix)."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from stormpool.checkers.serialized_controller_calls import SERIALIZED, UNSERIALIZED
from stormpool.events import SECOND, Member, PluginView, Unwatched
from stormpool.history import History, Rpc
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# A call is judged only by what the servers have held for true this long, before and after it was made: the
# choice is made on a snapshot of their state, a moment before the call; and a change is told so late at
# most, or the time in which it may have come is told as well (`stormpool.watch.SILENT`).
STEADY = SECOND


class _Timeline:
    """What was held for true when, for one thing."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.values: list[dict[str, bool]] = []

    def add(self, t: int, value: dict[str, bool]) -> None:
        """From `t` on, `value`."""
        self.times.append(t)
        self.values.append(value)

    def steady(self, t: int) -> dict[str, bool] | None:
        """What was held at `t`, if it had been and went on to be so for `STEADY`."""
        at = bisect_right(self.times, t) - 1
        if at < 0 or t - self.times[at] < STEADY:
            return None
        if at + 1 < len(self.times) and self.times[at + 1] - t < STEADY:
            return None
        return self.values[at]


@guarantee("lowest healthy controller")
def lowest_healthy_controller(history: History) -> Verdict:
    """Destructive controller calls go to the healthy instance with the lowest client id, and to no other.

    An instance is a candidate when the servers hold it for healthy and its node for ready; whether the node
    takes new work (eligibility, a drain) does not matter to it. Calls made within a second of a change of
    either are not judged, for the choice is made on a snapshot; nor those made while no server said what they
    hold for true.
    """
    witnesses: list[Witness] = []
    judged = 0
    for choice in choices(history):
        judged += 1
        if choice.mine not in choice.candidates[:1]:
            witnesses.append(_witness(choice))
    return lowest_healthy_controller.found(
        judged,
        witnesses,
        nothing="no destructive controller call was made while the controllers' health was steady",
    )


@dataclass(frozen=True)
class Choice:
    """A call, the instance it went to, and those it could have gone to, by client id."""

    rpc: Rpc
    mine: str
    candidates: list[str]  # healthy, on nodes that are ready; lowest first
    others: list[str]  # not healthy, or on nodes that are not ready
    names: dict[str, str]  # node → client id


def choices(history: History) -> Iterator[Choice]:
    """The destructive controller calls made while what the servers held for true did not change."""
    client_ids, ready, healthy = _timelines(history)
    silent = [(event.since - STEADY, event.t) for event in history.of(Unwatched)]
    for rpc in history.rpcs(SERIALIZED | UNSERIALIZED):
        if any(start <= rpc.call.t <= end for start, end in silent):
            continue
        instances, nodes = healthy[rpc.call.plugin].steady(rpc.call.t), ready.steady(rpc.call.t)
        mine = client_ids.get(rpc.call.node)
        if instances is None or nodes is None or mine is None:
            continue
        candidates = sorted(id for id, well in instances.items() if well and nodes.get(id))
        yield Choice(rpc, mine, candidates, sorted(set(instances) - set(candidates)), client_ids)


def _timelines(history: History) -> tuple[dict[str, str], _Timeline, dict[str, _Timeline]]:
    client_ids: dict[str, str] = {}
    ready, healthy = _Timeline(), defaultdict[str, _Timeline](_Timeline)
    nodes: dict[str, bool] = {}
    for event in history.events:
        if type(event) is Member:
            client_ids[event.node] = event.client_id
            if nodes.get(event.client_id) != (event.status == "ready"):
                nodes = {**nodes, event.client_id: event.status == "ready"}
                ready.add(event.t, nodes)
        elif type(event) is PluginView:
            healthy[event.plugin].add(event.t, event.controllers)
    return client_ids, ready, healthy


def _witness(choice: Choice) -> Witness:
    rpc, call, mine = choice.rpc, choice.rpc.call, choice.mine
    lowest = choice.candidates[0] if choice.candidates else ""
    name = next((node for node, id in choice.names.items() if id == lowest), "none")
    instead = (
        f"while {name} ({lowest[:8]}) had the lowest healthy one" if lowest else "while none was healthy"
    )
    return Witness(
        f"{call.method} of {call.volume} went to the controller on {call.node} (client id {mine[:8]}) "
        f"at {seconds(call.t)}, {instead}",
        call.t,
        rpc.left if rpc.end else call.t,
        sorted({call.node, name} - {"none"}),
        [call.id],
    )
