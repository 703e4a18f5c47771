"""A server that has lost its votes votes twice in a term: two win it, and *one leader a term* is broken."""

from pathlib import Path

import pytest

from stormpool import faults, guarantees, target
from stormpool.cluster import Cluster
from stormpool.events import Leader
from stormpool.lab import Lab, Role
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.verdict import Outcome
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab


def winners(cluster: Cluster) -> list[tuple[int, str]]:
    """The terms that were won so far, and by whom."""
    return [(each.term, each.node) for each in cluster.so_far()[0].of(Leader)]


def test_a_server_that_votes_twice(tmp_path: Path) -> None:
    asked = Asked(lab=Lab(servers=3, clients=1), scenario="elections", nomad="1.8.0", out=tmp_path, seed=1)
    with running(asked) as cluster:
        first = Scene(cluster).node(target.leader())
        second, third = (name for name in cluster.lab.names(Role.SERVER) if name != first)
        asleep = Scene(cluster)  # and so a term behind when it wakes
        faults.PauseAgent(target.node(third)).inject(asleep)
        faults.Isolate(target.node(third)).inject(
            asleep
        )  # nor must it find the next term in what waits for it
        faults.TransferLeadership(target.node(second)).inject(Scene(cluster))  # by the votes of the first two
        faults.Isolate(target.node(second)).inject(Scene(cluster))
        faults.LoseRaft(target.node(first)).inject(Scene(cluster))
        faults.Isolate(target.node(third)).heal(asleep)
        faults.PauseAgent(target.node(third)).heal(asleep)
        wait_until(
            f"{third} wins an election",
            lambda: winners(cluster),
            lambda seen: any(name == third for _, name in seen),
            timeout=20,
        )
        (*_, (term, before), (same, after)) = winners(cluster)
        assert (term, before, after) == (same, second, third)
        verdict = guarantees.one_leader_a_term(cluster.so_far()[0])
    assert verdict.outcome is Outcome.INVALID
    assert f"won term {term}" in verdict.witnesses[0].what
