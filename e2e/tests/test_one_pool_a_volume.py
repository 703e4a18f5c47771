"""Volumes in the pools of nodes, once all has settled."""

from stormpool.checkers.one_pool_a_volume import one_pool_a_volume
from stormpool.events import Books, Event, Observed, Volume
from stormpool.history import History
from stormpool.verdict import Outcome

VOLUMES = Volume(1, "vol1", "zfs"), Volume(1, "vol2", "zfs")
SETTLED = Books(2, {}, [], settled_in=1.0)


def shows(t: int, node: str, *datasets: str, silent: bool = False) -> Observed:
    return Observed(t, node, settled=True, datasets=["tank", *datasets], silent=silent)


def judge(*events: Event) -> tuple[Outcome, int, int]:
    verdict = one_pool_a_volume(History([*VOLUMES, *events]))
    return verdict.outcome, verdict.judged, verdict.broken


def test_a_volume_in_two_pools_breaks_it() -> None:
    one, other = shows(3, "client1", "tank/vol1"), shows(4, "client2", "tank/vol1")
    assert judge(SETTLED, one, other) == (Outcome.INVALID, 1, 1)
    assert judge(SETTLED, one, shows(4, "client2", "tank/vol2")) == (Outcome.VALID, 2, 0)
    witness = one_pool_a_volume(History([*VOLUMES, SETTLED, one, other])).witnesses[0]
    assert (witness.nodes, witness.start, witness.end) == (["client1", "client2"], 3, 4)


def test_a_volume_that_moved_between_two_looks_is_in_one() -> None:
    moved = Books(5, {}, [], settled_in=1.0), shows(6, "client1"), shows(7, "client2", "tank/vol1")
    assert judge(SETTLED, shows(3, "client1", "tank/vol1"), *moved) == (Outcome.VALID, 2, 0)


def test_a_volume_that_may_be_on_its_way_is_not_judged() -> None:
    both = shows(3, "client1", "tank/vol1"), shows(4, "client2", "tank/vol1")
    assert judge(Books(2, {}, []), *both)[0] is Outcome.UNKNOWN


def test_a_node_whose_zfs_is_silent_leaves_it_open() -> None:
    seen = shows(3, "client1", "tank/vol1"), shows(4, "client2", silent=True)
    assert judge(SETTLED, *seen)[0] is Outcome.UNKNOWN


def test_what_is_no_volume_may_be_on_every_node() -> None:
    shared = [shows(t, f"client{t}", "tank/images") for t in (3, 4)]
    assert judge(SETTLED, *shared)[0] is Outcome.UNKNOWN
