"""Faults are values: what a run writes down of a plan is read back as it was."""

import inspect
import re
from pathlib import Path

import msgspec

from stormpool import faults, nemesis, script, target
from stormpool.checkers.serialized_controller_calls import ENDING
from stormpool.faults import Fault
from stormpool.lab import Lab
from stormpool.nemesis import Phase, Plan, rpc
from stormpool.script import Act, Script

CLIENT = target.node("client1")
MADE: tuple[Fault, ...] = (
    faults.BreakPlugin("zfs_device", CLIENT),
    faults.ChangeAgent(CLIENT, "1.8.0"),
    faults.CollectGarbage(),
    faults.CutApi(CLIENT),
    faults.DeregisterVolume("vol1", force=True),
    faults.DetachVolume("vol1"),
    faults.DetachVolume("vol1", CLIENT),
    faults.DrainNode(target.holder("vol1"), deadline=3.0),
    faults.DropRequest(),
    faults.FillPool("vol1"),
    faults.KillExecutor("vol1"),
    faults.KillLogmon(target=CLIENT),
    faults.LoseRaft(target.follower()),
    faults.LoseVdev(CLIENT),
    faults.MakeIneligible(CLIENT),
    faults.MisconfigurePlugin("zfs", ("false",)),
    faults.OccupyMount("vol1"),
    faults.PanicNode(CLIENT),
    faults.PauseExecutor(),
    faults.PauseLogmon(),
    faults.PausePlugin(),
    faults.PurgeNode(CLIENT),
    faults.ReachQuota("vol1"),
    faults.RemountReadOnly("vol1"),
    faults.RestartAgent(target.leader()),
    faults.RestartAllocation("vol1"),
    faults.RestartPlugin(),
    faults.SkewClock(CLIENT, -3600.0),
    faults.SlowPools(CLIENT, stopped=0.5),
    faults.StopAllocation("vol1"),
    faults.SuspendPools("vol1"),
    faults.TransferLeadership(),
)


def test_a_plan_is_read_back_as_it_was_written() -> None:
    plan = sum((nemesis.at(1.0, fault) for fault in MADE), Plan())
    written = Script(Lab(), (Act((), plan, 10.0),))
    assert [each.fault for each in script.decode(script.encode(written)).acts[0].plan.planned] == [*MADE]


def test_every_fault_is_offered_under_its_name() -> None:
    for fault in MADE:
        assert getattr(faults, type(fault).__name__) is type(fault)
        assert type(fault).__name__ in faults.__all__
        assert msgspec.to_builtins(fault)["type"] == type(fault).__name__


def test_every_fault_is_in_the_documentation() -> None:
    told = (Path(__file__).parents[2] / "docs" / "faults.md").read_text()
    assert [name for name in faults.__all__ if name != "Fault" and f"`{name}(" not in told] == []


def test_a_call_waits_for_the_next_that_matches() -> None:
    calls = rpc("NodeStageVolume", node="client1")
    (planned,) = faults.reorder_calls(calls.nth(3), at_most=2.0).planned
    assert planned.when == calls.nth(3).before
    assert planned.fault == faults.WaitFor(calls.nth(4).answered, 2.0)
    (point,) = planned.fault.awaits()
    assert (point.nth, point.phase) == (4, Phase.AFTER)


# A new fault is to be put here, or into `ENDING`: what a leader had taken on is over when its agent is ended.
LETS_AGENTS_LIVE = """
BreakPlugin Bridge CollectClientGarbage CollectGarbage CutApi CutConnection DelayCall DeregisterVolume
DetachVolume DrainNode DropRequest DuplicateCall ExportPool FailCall FillPool HangCall Isolate
KillExecutor KillLogmon KillPlugin LoseAnswer LoseVdev MakeIneligible MisconfigurePlugin OccupyMount
OneWay Partition PauseAgent PauseExecutor PauseLogmon PausePlugin PurgeNode ReachQuota RemountReadOnly
RestartAllocation RestartPlugin ShapeLink SkewClock SlowPools StopAllocation SuspendPools
TransferLeadership UpgradePlugin WaitFor
"""
ENDS = re.compile(r"agents\.(kill|restart)\(|site\.crash\(")


def every_fault() -> dict[str, type[Fault]]:
    named = {name: getattr(faults, name) for name in faults.__all__}
    return {name: kind for name, kind in named.items() if isinstance(kind, type) and kind is not Fault}


def test_of_every_fault_it_is_known_whether_it_ends_an_agent() -> None:
    assert every_fault().keys() == ENDING.union(LETS_AGENTS_LIVE.split())
    assert ENDING.isdisjoint(LETS_AGENTS_LIVE.split())


def test_the_faults_that_end_an_agent_are_those_whose_injection_does() -> None:
    assert {
        name for name, kind in every_fault().items() if ENDS.search(inspect.getsource(kind.inject))
    } == ENDING
