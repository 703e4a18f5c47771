"""What plugins did is undone each time that all should have settled, not only at the end of a run."""

from collections.abc import Iterator

import pytest
from test_a_node_goes_down import rpc

from stormpool.checkers.published_is_unpublished import left_published, published_is_unpublished
from stormpool.history import Alloc, Books, Event, History, Member, Phase
from stormpool.verdict import Outcome


def act(begin: int, *events: Event, allocs: tuple[Alloc, ...] = ()) -> Iterator[Event]:
    yield Phase(begin, "workload")
    yield from events
    claims = {"vol1": [alloc.id for alloc in allocs]}
    yield Books(begin + 80, claims, list(allocs), settled_in=1.0)


ATTACHES = [*rpc(10, "ControllerPublishVolume", {})]
DETACHES = [*rpc(110, "ControllerUnpublishVolume", {})]


def test_what_was_left_at_the_end_of_the_first_act_is_seen_though_it_was_undone_in_the_second() -> None:
    history = History([*act(0, *ATTACHES), *act(100, *DETACHES)])
    verdict = published_is_unpublished(history)
    assert (verdict.outcome, verdict.broken) == (Outcome.INVALID, 1)
    assert not left_published(history)


def test_what_stays_for_two_acts_is_told_once() -> None:
    history = History([*act(0, *ATTACHES), *act(100)])
    assert published_is_unpublished(history).broken == 1
    assert left_published(history)


def test_what_was_undone_before_the_bound_was_over_is_not_left() -> None:
    late = [*rpc(90, "ControllerUnpublishVolume", {})]
    history = History([*act(0, *ATTACHES, *late), *act(100)])
    assert published_is_unpublished(history).outcome is Outcome.VALID


@pytest.mark.parametrize("volumes", [["vol1"], []], ids=["by its own word", "by its claim"])
def test_a_volume_that_is_used_on_is_not_left(volumes: list[str]) -> None:
    user = Alloc("a", "consumer", "client1", "run", "running", volumes)
    history = History([*act(0, *ATTACHES, allocs=(user,)), *act(100, *DETACHES)])
    assert published_is_unpublished(history).outcome is Outcome.VALID


def test_a_node_counts_as_lost_by_what_the_servers_held_then() -> None:
    down, back = Member(70, "client1", "id", "down"), Member(120, "client1", "id", "ready")
    history = [*act(0, *ATTACHES), down, *act(100, *DETACHES), back]
    assert published_is_unpublished(History(history)).outcome is Outcome.VALID
