"""Calls on plugins, as spans: those that do something, on the node whose plugin got them."""

from __future__ import annotations

from stormpool.events import Gone, Reply
from stormpool.history import ASKING, NEVER, History, Rpc
from stormpool.report.span import Span, within

CONTROLLER = ("Controller", "Create", "Delete")


def calls(history: History, end: int) -> list[Span]:
    """Every call that does something: those that only ask would bury them; `end` cuts what never ended."""
    return [_span(rpc, end) for rpc in history.rpcs() if not any(word in rpc.call.method for word in ASKING)]


def _span(rpc: Rpc, end: int) -> Span:
    call = rpc.call
    about = call.volume if not call.target else f"{call.volume} for {call.target}"
    start, stop = within(call.t, rpc.left, end)
    return Span(
        group=call.node,
        lane="controller calls" if call.method.startswith(CONTROLLER) else "node calls",
        start=start,
        end=stop,
        label=about,
        kind=call.method,
        told=f"{call.method} of {about} by {call.plugin} on {call.node}",
        outcome=_outcome(rpc),
        bad=not rpc.ok,
        more=_more(rpc),
        id=call.id,
    )


def _outcome(rpc: Rpc) -> str:
    """A status by its name, with what the plugin said; or who went away."""
    match rpc.end:
        case Reply(code=code, message=message, by=by, said=own):
            said = f"{code}: {message}" if message else code
            place = f"place of the plugin's {own}" if own else "the plugin's place"
            return said if by == "plugin" else f"{said} (said by a fault, in {place})"
        case Gone(by=by):
            return f"no answer: {by} was gone"
        case _:
            return "no answer until the run ended"


def _more(rpc: Rpc) -> str:
    """The request's other fields, and where a fault kept the call or its answer."""
    told = [f"{name}={value}" for name, value in rpc.call.args.items()]
    if isinstance(rpc.end, Reply):
        told += [f"→ {name}={value}" for name, value in rpc.end.result.items()]
        told += [] if rpc.end.told else ["the caller never heard the answer"]
    if not rpc.call.sent and rpc.left != NEVER:
        told.append("the plugin never got it")
    return " ".join(told)
