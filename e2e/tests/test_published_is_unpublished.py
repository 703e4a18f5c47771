"""What plugins did is undone each time that all should have settled, not only at the end of a run."""

from collections.abc import Iterator

import pytest
from test_a_node_goes_down import rpc

from stormpool.checkers.published_is_unpublished import left_published, published_is_unpublished
from stormpool.events import Alloc, Books, Call, Event, Member, Phase, Reply
from stormpool.history import History
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


@pytest.mark.parametrize("volumes", [["vol1"], []], ids=["by its job", "by its claim"])
def test_a_volume_that_is_used_on_is_not_left(volumes: list[str]) -> None:
    user = Alloc("a", "consumer", "client1", "run", "running", volumes)
    history = History([*act(0, *ATTACHES, allocs=(user,)), *act(100, *DETACHES)])
    assert published_is_unpublished(history).outcome is Outcome.VALID


def test_a_volume_that_somebody_only_waits_for_is_left() -> None:
    """As on Nomad 1.3.1: what is to be stopped hangs before its first task, and holds no claim."""
    waits = Alloc("a", "consumer", "client1", "stop", "pending", ["vol1"])
    history = History([*ATTACHES, Books(80, {"vol1": []}, [waits])])
    assert published_is_unpublished(history).outcome is Outcome.INVALID


def test_a_node_counts_as_lost_by_what_the_servers_held_then() -> None:
    down, back = Member(70, "client1", "id", "down"), Member(120, "client1", "id", "ready")
    history = [*act(0, *ATTACHES), down, *act(100, *DETACHES), back]
    assert published_is_unpublished(History(history)).outcome is Outcome.VALID


def refused(t: int, method: str, said: str) -> list[Event]:
    """A call that a fault refused twenty later, once the plugin had answered it, or while it had not."""
    call = Call(t, f"{t}", "zfs", "client1", method, "vol1", target="client1", sent=t)
    at = t + 1 if said else 0
    return [call, Reply(t + 20, f"{t}", "UNAVAILABLE", told=t + 21, by="tap", said=said, said_at=at)]


def test_what_was_attached_stands_though_its_caller_was_told_that_it_failed() -> None:
    history = History([*act(0, *refused(10, "ControllerPublishVolume", "OK"))])
    verdict = published_is_unpublished(history)
    assert (verdict.outcome, verdict.broken) == (Outcome.INVALID, 1)
    assert "answered at 0.000 s, was never undone: nobody asked" in verdict.why


def test_what_was_detached_is_undone_though_its_caller_was_told_that_it_failed() -> None:
    history = History([*act(0, *ATTACHES, *refused(30, "ControllerUnpublishVolume", "OK"))])
    assert published_is_unpublished(history).outcome is Outcome.VALID


@pytest.mark.parametrize("said", ["", "INTERNAL"], ids=["nothing", "that it failed"])
def test_what_was_refused_while_the_plugin_had_not_done_it_is_not_done(said: str) -> None:
    attaching = History([*act(0, *refused(10, "ControllerPublishVolume", said))])
    assert published_is_unpublished(attaching).outcome is Outcome.UNKNOWN
    detaching = History([*act(0, *ATTACHES, *refused(30, "ControllerUnpublishVolume", said))])
    assert "1 calls to undo it failed" in published_is_unpublished(detaching).why


def test_calls_count_in_the_order_in_which_the_plugin_answered_them() -> None:
    """It was attached again while the refusal of its detachment was on the way."""
    again = [*rpc(35, "ControllerPublishVolume", {})]
    history = History([*act(0, *ATTACHES, *refused(30, "ControllerUnpublishVolume", "OK"), *again)])
    assert published_is_unpublished(history).outcome is Outcome.INVALID
