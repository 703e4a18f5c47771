"""What an exploration says of a point: what its run came to, and what the point's faults can have done."""

from pathlib import Path

import msgspec
import pytest
from stored import about

from stormpool import faults, nemesis, outcome
from stormpool.errors import Misuse
from stormpool.events import Fault
from stormpool.explore import console
from stormpool.explore.exploration import BROKE_ANYWAY, NOT_REACHED, Exploration, Subject, Tried
from stormpool.explore.points import Point
from stormpool.history import encode
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.script import Act, Script
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome, Verdict, Witness
from stormpool.workers.worker import Done

OWN = nemesis.on(rpc("NodeStageVolume").before, faults.DelayCall(0.1))  # what the scenario breaks itself
POINT = Point(tuple(nemesis.on(rpc("NodeStageVolume").answered, faults.FailCall()).planned))
BASE = Script(Lab(), (Act((), OWN, 10.0),))
SUBJECT = Subject("test_story.py", "1.6.1", "netns", 0, ("fail",))


def verdict(name: str, outcome: Outcome, *, end: int = 0) -> Verdict:
    witnesses = [Witness("it broke", end - 1, end)] if outcome is Outcome.INVALID else []
    return Verdict(name, "", outcome, "because", witnesses=witnesses)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run that came to its point, the second fault of its plan, at 50."""
    made = RunDirectory.create(tmp_path, "run")
    made.write_about(about())
    injected = [Fault(10, 0, "DelayCall", "injected"), Fault(50, 1, "FailCall", "injected")]
    made.history.write_bytes(b"".join(encode(event) for event in injected))
    return made


def tried(run: RunDirectory, *verdicts: Verdict) -> Tried:
    run.write_verdicts(list(verdicts))
    exploration = Exploration(run.path.parent, SUBJECT)
    told = exploration._judge(POINT, BASE, Done(str(run.path), 1.0))
    exploration._note(told, keep=False)
    return told


@pytest.mark.parametrize(("kind", "expected"), [("machine", "machine"), ("scenario", "unknown")])
def test_a_run_that_ended_after_its_first_verdict_has_not_held(
    run: RunDirectory, kind: str, expected: str
) -> None:
    said = about(error="the agent of client1 ended")
    said.error_kind = kind
    run.write_about(said)
    told = tried(run, verdict("progress", Outcome.VALID))
    assert (told.outcome, told.why) == (expected, "the agent of client1 ended")
    assert run.path.exists()
    assert outcome.of_run(run) == expected


def test_a_run_in_which_all_held_is_not_kept(run: RunDirectory) -> None:
    assert tried(run, verdict("progress", Outcome.VALID)).outcome == "valid"
    assert not run.path.exists()


def test_only_what_broke_after_the_fault_is_told_as_broken_by_it(run: RunDirectory) -> None:
    before = verdict("lifecycle order", Outcome.INVALID, end=40)
    after = verdict("progress", Outcome.INVALID, end=60)
    assert tried(run, before, after).broken == ("progress",)
    told = tried(run, before)
    assert (told.outcome, told.broken) == (BROKE_ANYWAY, ("lifecycle order",))
    assert "broke lifecycle order without the fault" in console.told_of(told)


def test_a_fault_of_the_scenario_is_not_the_point(run: RunDirectory) -> None:
    run.history.write_bytes(encode(Fault(10, 0, "DelayCall", "injected")))
    assert tried(run, verdict("progress", Outcome.INVALID, end=60)).outcome == BROKE_ANYWAY
    assert tried(run, verdict("progress", Outcome.VALID)).outcome == NOT_REACHED


def test_half_a_line_of_results_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "explore.json").write_bytes(msgspec.json.encode(SUBJECT))
    whole = msgspec.json.encode(Tried("a", "NodeStageVolume", (), "valid", run="/run")) + b"\n"
    results = tmp_path / "results.jsonl"
    results.write_bytes(whole + b'{"point":"b","meth')
    assert set(Exploration.resume(tmp_path).tried) == {"a"}
    assert results.read_bytes() == whole  # what is written next is a line of its own
    results.write_bytes(b"{half\n" + whole)
    with pytest.raises(Misuse, match="cannot be read"):
        Exploration.resume(tmp_path)


def test_after_a_failure_of_the_machine_there_is_nothing_to_replay() -> None:
    assert "again" not in console.told_of(Tried("a", "NodeStageVolume", (), "machine", why="no lab"))


def test_why_labs_could_not_be_used_again_is_told(tmp_path: Path) -> None:
    exploration = Exploration(tmp_path, SUBJECT)
    for name, spent in (
        ("a", "x"),
        ("b", "client1 is clean: not within 10 s"),
        ("c", ""),
        ("d", "client1 is clean: not within 10 s"),
    ):
        exploration.tried[name] = Tried(name, "NodeStageVolume", (), "valid", spent=spent)
    told = console.told(exploration)
    assert "3 of 4 runs used their lab up, mostly: client1 is clean: not within 10 s" in told
