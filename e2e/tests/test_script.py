"""A run's script: written and read back, replayed by its calls, and made smaller."""

from collections.abc import Callable, Container, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from stormpool import faults, nemesis, script, target, workloads
from stormpool.again import shrink
from stormpool.again.reproduction import by_events, told
from stormpool.errors import MachineError, Misuse
from stormpool.events import SECOND, Call, Event, Fault, Reply
from stormpool.events import Phase as RunPhase
from stormpool.history import History
from stormpool.lab import Lab
from stormpool.nemesis import AtTime, Plan, rpc
from stormpool.plugins import csi
from stormpool.script import Act, Script
from stormpool.workers.worker import Done, Order

PUBLISH = "ControllerPublishVolume"
WORK = workloads.attach_detach(["vol1", "vol2", "vol3"], per_volume=2)


def of(plan: Plan) -> Script:
    """A script with a plan."""
    return Script(Lab(servers=3, clients=3, plugins=[csi.zfs(controllers=3)]), (Act((WORK,), plan, 30.0),))


PLAN = (
    nemesis.on(
        rpc(PUBLISH, volume="vol1").nth(2).answered, faults.KillAgent(target.holder("vol1")), heal_after=1.0
    )
    + nemesis.on(rpc(PUBLISH).before, faults.WaitFor(rpc("NodeStageVolume").nth(3).answered))
    + nemesis.at(2.5, faults.FailCall(code=10, message="no"))
)


def test_a_script_is_read_back_as_it_was_written() -> None:
    written = of(PLAN)
    read = script.decode(script.encode(written))
    assert (read.acts, read.lab.servers, read.faults) == (written.acts, 3, 3)
    assert script.encode(read) == script.encode(written)


def test_a_script_that_names_what_nobody_knows() -> None:
    strange = script.encode(of(PLAN)).replace(b'"KillAgent"', b'"KillEveryone"')
    with pytest.raises(Misuse, match="KillEveryone"):
        script.decode(strange)


def test_plugins_of_another_machine_are_run_as_they_are_described_here() -> None:
    there = script.decode(script.encode(of(PLAN)).replace(b"python", b"/elsewhere/python"))
    here = Lab(servers=1, clients=1, plugins=[csi.zfs()])
    fit = script.at_home(there, here)
    assert fit.lab.plugins[0].argv == here.plugins[0].argv
    assert (fit.lab.csi_plugins[0].controllers, fit.lab.clients) == (3, 3)


def test_a_fault_at_a_time_is_replayed_at_the_call_before_it() -> None:
    events: list[Event] = [
        RunPhase(10, "workload"),
        Call(5, "early", "zfs", "client1", PUBLISH, "vol1", sent=5),
        Call(20, "one", "zfs", "client1", PUBLISH, "vol1", sent=21),
        Reply(30, "one", told=31),
        Fault(25, 0, "KillAgent", "injected"),
        Fault(35, 1, "KillAgent", "injected"),
        Fault(12, 2, "KillAgent", "injected"),
    ]
    kill = faults.KillAgent(target.leader())
    plan = nemesis.at(0.1, kill) + nemesis.at(0.2, kill) + nemesis.at(0.01, kill) + nemesis.at(9.0, kill)
    replayed = by_events(of(plan), History(events)).acts[0].plan.planned
    first = rpc(PUBLISH, volume="vol1")
    assert [each.when for each in replayed] == [first.during, first.answered, AtTime(0.01), AtTime(9.0)]


def test_a_fault_long_after_a_call_is_replayed_as_long_after_it() -> None:
    events: list[Event] = [
        RunPhase(10, "workload"),
        Call(20, "one", "zfs", "client1", PUBLISH, "vol1", sent=21),
        Fault(3 * SECOND, 0, "KillAgent", "injected"),
    ]
    plan = nemesis.at(3.0, faults.KillAgent(target.leader()))
    (replayed,) = by_events(of(plan), History(events)).acts[0].plan.planned
    assert replayed.when == structs.replace(rpc(PUBLISH, volume="vol1").during, later=3.0)
    assert told(replayed) == "KillAgent(leader) during call 1 of ControllerPublishVolume vol1, 3 s later"


def test_faults_of_every_act_are_replayed_at_their_own_calls() -> None:
    events: list[Event] = [
        RunPhase(10, "workload"),
        Call(20, "one", "zfs", "client1", PUBLISH, "vol1", sent=21),
        Reply(30, "one", told=31),
        Fault(25, 0, "KillAgent", "injected"),
        RunPhase(40, "workload"),
        Call(50, "two", "zfs", "client1", PUBLISH, "vol1", sent=51),
        Fault(55, 1, "KillAgent", "injected"),
    ]
    plan = nemesis.at(0.1, faults.KillAgent(target.leader()))
    (act,) = of(plan).acts
    twice = Script(Lab(), (act, act, act))  # the third was never come to
    whens = [act.plan.planned[0].when for act in by_events(twice, History(events)).acts]
    first = rpc(PUBLISH, volume="vol1").during
    assert whens == [first, first, AtTime(0.1)]


def test_parts_are_left_out_big_ones_first_and_each_once() -> None:
    gone = [gone for _, gone in shrink.parts("abcd")]
    assert gone[0] == list("abcd")
    assert gone[1:3] == [list("ab"), list("cd")]
    assert gone[3:] == [["a"], ["b"], ["c"], ["d"]]
    assert [sorted([*kept, *left]) for kept, left in shrink.parts("abc")] == [list("abc")] * len(
        list(shrink.parts("abc"))
    )


def test_every_candidate_is_smaller() -> None:
    whole = of(PLAN)
    before = shrink.size(whole)
    found = list(shrink.candidates(whole))
    assert len(found) > 10
    for each in found:
        after = shrink.size(each.script)
        assert after != before, each.without
        assert all(after[name] <= before[name] for name in before), each.without
        assert script.decode(script.encode(each.script)).acts == each.script.acts


def test_shrinking_ends_with_one_of_everything() -> None:
    left = of(PLAN)
    while smaller := next(shrink.candidates(left), None):
        left = smaller.script
    assert shrink.size(left) == {"faults": 0, "steps": 1, "nodes": 2}


class Labs:
    """In the place of workers: every run shows the same as long as one fault is among those planned.

    `fails`: which runs the machine fails, by how many were made.
    """

    def __init__(self, needed: object, fails: Container[int] = ()) -> None:
        self.needed = needed
        self.fails = fails
        self.made: list[bytes] = []

    def run(self, orders: Iterable[tuple[str, Order]]) -> Iterator[tuple[str, Done | MachineError]]:
        for name, order in orders:
            assert order.script is not None
            self.made.append(script.encode(order.script))
            planned = order.script.acts[0].plan.planned
            shows = self.needed in [each.fault for each in planned]
            if len(self.made) in self.fails:
                yield name, MachineError("no lab could be had")
                continue
            yield name, Done("red" if shows else "green", 1.0)


def shrunk(labs: Labs, tries: int, told: Callable[[str], None] = lambda _: None) -> shrink.Shrunk:
    original = SimpleNamespace(
        script=of(PLAN),
        broken=frozenset({"progress"}),
        order=lambda script: Order(0, script),
        shows_in=lambda done: done.run == "red",
        failure_of=lambda done: done if isinstance(done, MachineError) else None,
    )
    return shrink.shrink(cast(Any, original), cast(Any, labs), tries, told)


def test_what_was_tried_is_not_tried_again() -> None:
    labs = Labs(PLAN.planned[1].fault)
    made = shrunk(labs, 1)
    assert shrink.size(made.script) == {"faults": 1, "steps": 1, "nodes": 2}
    assert len(labs.made) == len(set(labs.made)) == made.runs


def test_a_run_that_the_machine_failed_is_tried_again_and_says_why() -> None:
    told: list[str] = []
    made = shrunk(Labs(PLAN.planned[1].fault, fails={1, 3}), 2, told.append)
    assert shrink.size(made.script) == {"faults": 1, "steps": 1, "nodes": 2}
    assert told.count("could not be run: no lab could be had") == 2


@pytest.mark.parametrize(("first", "tries", "runs"), [(1, 2, 2), (4, 3, 7), (1, 20, 3)])
def test_what_the_machine_failed_is_not_taken_for_whole(first: int, tries: int, runs: int) -> None:
    labs = Labs(PLAN.planned[1].fault, fails=range(first, 100))
    with pytest.raises(MachineError, match="no lab could be had"):
        shrunk(labs, tries)
    assert len(labs.made) == runs


def test_a_script_in_which_nothing_is_done_stays_as_it_is() -> None:
    nothing = Script(Lab())
    assert by_events(nothing, History([])) == nothing
