"""A plan's triggers: the right call, at the right point, once."""

import msgspec
import pytest

from stormpool import nemesis
from stormpool.errors import Misuse
from stormpool.events import Call
from stormpool.nemesis import Counting, OnCall, Phase, rpc

PUBLISH = "ControllerPublishVolume"


class Wanted(msgspec.Struct, frozen=True):
    """A fault, as far as a plan looks at it."""

    waits_for: tuple[OnCall, ...] = ()

    def awaits(self) -> tuple[OnCall, ...]:
        return self.waits_for


def call(number: int, method: str = PUBLISH, volume: str = "vol1", node: str = "client1") -> Call:
    return Call(t=number, id=f"call{number}", plugin="zfs", node=node, method=method, volume=volume)


def before(counting: Counting, *calls: Call) -> list[list[int]]:
    """Count calls, and say which faults are to be injected before each."""
    found = []
    for each in calls:
        counting.count(each)
        found.append(counting.faults(each, Phase.BEFORE))
    return found


def test_the_third_call_and_no_other() -> None:
    counting = Counting(nemesis.on(rpc(PUBLISH).nth(3).answered, Wanted()))
    calls = [call(number) for number in range(5)]
    assert before(counting, *calls) == [[]] * 5
    assert [counting.faults(each, Phase.AFTER) for each in calls] == [[], [], [0], [], []]
    assert counting.faults(calls[2], Phase.DURING) == []


def test_only_calls_that_match_are_counted() -> None:
    plan = nemesis.on(rpc(PUBLISH, volume="vol2", node="client2").nth(2).before, Wanted())
    counting = Counting(plan)
    others = [call(1), call(2, volume="vol2"), call(3, "NodeStageVolume", "vol2", "client2")]
    assert before(counting, *others) == [[], [], []]
    mine = [call(number, volume="vol2", node="client2") for number in (4, 5, 6)]
    assert before(counting, *mine) == [[], [0], []]


def test_two_faults_about_one_call() -> None:
    plan = nemesis.on(rpc(PUBLISH).before, Wanted()) + nemesis.on(rpc(PUBLISH).during, Wanted())
    counting = Counting(plan)
    assert before(counting, call(1)) == [[0]]
    assert counting.faults(call(1), Phase.DURING) == [1]
    assert plan.methods() == {PUBLISH}


def test_a_point_that_a_fault_waits_for() -> None:
    point = rpc("NodeStageVolume").nth(2).answered
    plan = nemesis.on(rpc(PUBLISH).before, Wanted((point,)))
    counting = Counting(plan)
    stages = [call(number, "NodeStageVolume") for number in (1, 2)]
    assert before(counting, *stages) == [[], []]
    assert [counting.points(each, Phase.AFTER) for each in stages] == [[], [point]]
    assert plan.methods() == {PUBLISH, "NodeStageVolume"}


def test_calls_are_counted_from_one() -> None:
    with pytest.raises(Misuse, match="counted from 1"):
        assert rpc(PUBLISH).nth(0).before


def test_every_call_of_a_kind_for_a_while() -> None:
    counting = Counting(nemesis.on(rpc(PUBLISH).every.within(5e-9).before, Wanted()), began=100)
    assert before(counting, call(101), call(105), call(106)) == [[0], [0], []]


def test_chance_is_the_seed_s() -> None:
    often, seldom = Wanted(), Wanted((rpc(PUBLISH).before,))
    plan = nemesis.at_random(7, {often: 9.0, seldom: 1.0}, count=200, within=10.0, heal_after=1.0)
    assert plan == nemesis.at_random(7, {often: 9.0, seldom: 1.0}, count=200, within=10.0, heal_after=1.0)
    assert plan != nemesis.at_random(8, {often: 9.0, seldom: 1.0}, count=200, within=10.0, heal_after=1.0)
    times = [each.when.seconds for each in plan.planned if isinstance(each.when, nemesis.AtTime)]
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] <= 10
    assert 5 < sum(each.fault is seldom for each in plan.planned) < 50
