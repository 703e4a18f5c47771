"""Which points a run has, which of them are folded, and what a plan with one of them is."""

from stormpool import faults, nemesis, target
from stormpool.events import Call, Event
from stormpool.events import Phase as RunPhase
from stormpool.explore import points
from stormpool.explore.points import Breaking
from stormpool.history import History
from stormpool.nemesis import OnCall, Phase, rpc

PUBLISH, STAGE = "ControllerPublishVolume", "NodeStageVolume"


def history(*methods_and_volumes: tuple[str, str]) -> History:
    """A run with these calls, a second apart, in its workload."""
    events: list[Event] = [RunPhase(0, "workload"), RunPhase(100, "heal")]
    for t, (method, volume) in enumerate(methods_and_volumes, 1):
        events.append(Call(t, f"call{t}", "zfs", "client1", method, volume, sent=t))
    return History(events)


def test_every_call_phase_and_fault() -> None:
    found = points.points(history((PUBLISH, "vol1"), (STAGE, "vol1")), [Breaking(faults.KillPlugin())])
    assert [each.name for each in found] == [
        f"KillPlugin(serving) {phase} {method}#1 of vol1"
        for method in (PUBLISH, STAGE)
        for phase in ("before", "during", "after")
    ]


def test_the_same_call_of_another_volume_is_folded() -> None:
    run = history((PUBLISH, "vol1"), (PUBLISH, "vol2"), (PUBLISH, "vol2"), ("GetPluginInfo", ""))
    found = points.points(run, [Breaking(faults.DuplicateCall())])
    assert [(each.name, each.stands_for) for each in found] == [
        (f"DuplicateCall before {PUBLISH}#1 of vol1", 2),
        (f"DuplicateCall before {PUBLISH}#2 of vol2", 1),
    ]


def test_what_happens_before_the_workload_and_after_it_is_no_point() -> None:
    outside = [Call(t, f"call{t}", "zfs", "client1", PUBLISH, "vol1", sent=t) for t in (-5, 200)]
    run = History([*history().events, *outside])
    assert points.points(run, [Breaking(faults.CutConnection())]) == []


def test_a_point_is_added_to_the_plan_there_is() -> None:
    planned = nemesis.at(1.0, faults.KillAgent(target.leader()))
    (point,) = points.points(history((PUBLISH, "vol1")), [Breaking(faults.DuplicateCall(), 2.0)])
    added = point.added_to(planned).planned
    assert added[0] == planned.planned[0]
    assert added[1].when == OnCall(rpc(PUBLISH, volume="vol1").before.pattern, 1, Phase.BEFORE)
    assert added[1].heal_after == 2.0


def test_pairs_are_of_different_points_and_in_the_order_of_the_seed() -> None:
    single = points.points(
        history((PUBLISH, "vol1"), (STAGE, "vol1")),
        [Breaking(faults.CutConnection()), Breaking(faults.FailCall())],
    )
    found = points.pairs(single, seed=7)
    assert found == points.pairs(single, seed=7)
    assert {each.name for each in found} == {each.name for each in points.pairs(single, seed=8)}
    assert all(first.when != second.when for first, second in (each.planned for each in found))
    assert points.methods(found) in ([PUBLISH, STAGE], [STAGE, PUBLISH], [PUBLISH])
