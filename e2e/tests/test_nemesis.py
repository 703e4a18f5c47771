"""A plan's triggers: the right call, at the right point, once."""

import pytest

from stormpool import nemesis
from stormpool.errors import Misuse
from stormpool.history import Call
from stormpool.nemesis import Counting, Phase, rpc

PUBLISH = "ControllerPublishVolume"


def call(number: int, method: str = PUBLISH, volume: str = "vol1", node: str = "client1") -> Call:
    return Call(t=number, id=f"call{number}", plugin="zfs", node=node, method=method, volume=volume)


def test_the_third_call_and_no_other() -> None:
    counting = Counting(nemesis.on(rpc(PUBLISH).nth(3).answered, "fault"))
    calls = [call(number) for number in range(5)]
    assert [counting.asked(each) for each in calls] == [[]] * 5
    assert [counting.of(each, Phase.AFTER) for each in calls] == [[], [], [0], [], []]
    assert counting.of(calls[2], Phase.DURING) == []


def test_only_calls_that_match_are_counted() -> None:
    plan = nemesis.on(rpc(PUBLISH, volume="vol2", node="client2").nth(2).before, "fault")
    counting = Counting(plan)
    others = [call(1), call(2, volume="vol2"), call(3, "NodeStageVolume", "vol2", "client2")]
    assert [counting.asked(each) for each in others] == [[], [], []]
    mine = [call(number, volume="vol2", node="client2") for number in (4, 5, 6)]
    assert [counting.asked(each) for each in mine] == [[], [0], []]


def test_two_faults_about_one_call() -> None:
    plan = nemesis.on(rpc(PUBLISH).before, "first") + nemesis.on(rpc(PUBLISH).during, "second")
    counting = Counting(plan)
    assert counting.asked(call(1)) == [0]
    assert counting.of(call(1), Phase.DURING) == [1]
    assert plan.methods() == {PUBLISH}


def test_calls_are_counted_from_one() -> None:
    with pytest.raises(Misuse, match="counted from 1"):
        assert rpc(PUBLISH).nth(0).before
