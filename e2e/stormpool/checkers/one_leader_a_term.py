"""Raft's election safety (Ongaro, Ousterhout: "In Search of an Understandable Consensus Algorithm", 5.2)."""

from __future__ import annotations

from stormpool.events import Leader
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("one leader a term")
def one_leader_a_term(history: History) -> Verdict:
    """At most one server wins an election in any term, by the servers' own words."""
    first: dict[int, Leader] = {}
    witnesses = []
    for event in history.of(Leader):
        other = first.setdefault(event.term, event)
        if other.node != event.node:
            both = f"{other.node} at {seconds(other.t)} and {event.node} at {seconds(event.t)}"
            what = f"{both} won term {event.term}"
            witnesses.append(Witness(what, other.t, event.t, [other.node, event.node]))
    return one_leader_a_term.found(len(first), witnesses, nothing="no election was seen")
