"""Whether an agent asks instances of a controller that are not well (nomad pull request 17996)."""

from __future__ import annotations

from stormpool.checkers.lowest_healthy_controller import choices
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("only healthy controllers are asked")
def healthy_controllers(history: History) -> Verdict:
    """Destructive controller calls never go to an instance whose last probe failed, or whose node is lost.

    Judged while at least one instance is not well and what the servers hold for true does not change.
    """
    witnesses: list[Witness] = []
    judged = 0
    for choice in choices(history):
        if not choice.others or not choice.candidates:
            continue
        judged += 1
        if choice.mine in choice.others:
            rpc, call = choice.rpc, choice.rpc.call
            what = (
                f"{call.method} of {call.volume} went to the controller on {call.node} at {seconds(call.t)}"
            )
            end = rpc.left if rpc.end else call.t
            witnesses.append(Witness(f"{what}, which was not healthy", call.t, end, [call.node], [call.id]))
    nothing = "no destructive controller call was made while a controller was not healthy"
    return healthy_controllers.found(judged, witnesses, nothing=nothing)
