"""Writes that were refused, against the room of their volumes."""

from stormpool.checkers.room_is_there import room_is_there
from stormpool.events import Acknowledged, Event, Fault, Operation
from stormpool.history import History
from stormpool.verdict import Outcome

ATTACH = Operation(1, "attach", "vol1", 2, "alloc", "client1")


def judge(*events: Event) -> tuple[Outcome, int]:
    verdict = room_is_there(History([ATTACH, *events]))
    return verdict.outcome, verdict.judged


def test_no_write_may_be_refused() -> None:
    assert judge(Acknowledged(5, "alloc", 3, "a", "vol1")) == (Outcome.VALID, 3)
    assert judge(Acknowledged(5, "alloc", 3, "a", "vol1", refused=2)) == (Outcome.INVALID, 5)
    assert judge(Acknowledged(5, "alloc", 0, "a", "vol1", refused=2)) == (Outcome.INVALID, 2)


def test_what_is_told_again_is_counted_once() -> None:
    told = [Acknowledged(t, "alloc", 3, "a", "vol1", refused=1) for t in (5, 9)]
    verdict = room_is_there(History([ATTACH, *told]))
    assert (verdict.broken, verdict.judged) == (1, 4)
    assert verdict.witnesses[0].nodes == ["client1"]


def test_a_volume_that_a_fault_has_filled_is_not_judged_and_its_neighbours_are() -> None:
    filled = Fault(3, 1, "ReachQuota", "injected", "tank/vol1 of client1")
    refused = Acknowledged(5, "alloc", 3, "a", "vol1", refused=1)
    assert judge(filled, refused)[0] is Outcome.UNKNOWN
    assert judge(filled, refused, Acknowledged(5, "other", 3, "b", "vol2")) == (Outcome.VALID, 3)
    planned = Fault(3, 1, "ReachQuota", "planned")
    assert judge(planned, refused)[0] is Outcome.INVALID
