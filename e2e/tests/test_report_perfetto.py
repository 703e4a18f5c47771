"""The trace holds to the rules of the Trace Event Format."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from stored import about

from stormpool import guarantees
from stormpool.events import SECOND, Call, Event, Fault, Leader, Phase, Reply
from stormpool.history import History
from stormpool.report.perfetto import trace
from stormpool.report.timeline import timeline

HISTORIES = Path(__file__).parents[2] / "fixtures" / "histories"
SAVED = sorted(HISTORIES.rglob("*.jsonl"))
Traced = dict[str, Any]


def events_of(history: History) -> list[Traced]:
    verdicts = [guarantees.serialized_controller_calls(history)]
    told = json.loads(trace(about(), history, timeline(history, verdicts)))
    events: list[Traced] = told["traceEvents"]
    return events


@pytest.mark.parametrize("path", SAVED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_event_has_what_its_phase_asks_for(path: Path) -> None:
    for event in events_of(History.decode(path.read_bytes())):
        assert event["ph"] in "MXisf"
        assert isinstance(event["name"], str)
        assert event["pid"] > 0
        if event["ph"] != "M" or event["name"].startswith("thread"):
            assert event["tid"] > 0
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] in "gpt"


@pytest.mark.parametrize("path", SAVED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_slices_of_a_thread_do_not_cut_into_each_other(path: Path) -> None:
    threads: dict[tuple[int, int], list[Traced]] = defaultdict(list)
    for event in events_of(History.decode(path.read_bytes())):
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append(event)
    assert threads
    for slices in threads.values():
        ends = [0.0, *(slice["ts"] + slice["dur"] for slice in slices)]
        assert all(slice["ts"] >= end - 1e-3 for slice, end in zip(slices, ends, strict=False))


def test_processes_are_nodes_and_threads_lanes() -> None:
    calls = [Call(10, name, "zfs", "client2", "DeleteVolume", sent=1) for name in "ab"]
    events = events_of(History([*calls, Reply(20, "a"), Reply(30, "b")]))
    named = {
        (event["name"], event["args"]["name"])
        for event in events
        if event["ph"] == "M" and "name" in event["args"]
    }
    assert ("process_name", "client2") in named
    assert {("thread_name", "controller calls"), ("thread_name", "controller calls 2")} <= named


@pytest.mark.parametrize(("ended", "first"), [(5 * SECOND, "fault"), (2 * SECOND, "call")])
def test_an_arrow_joins_a_fault_and_its_call(ended: int, first: str) -> None:
    happened: list[Event] = [
        Call(SECOND, "a", "zfs", "client1", "DeleteVolume", sent=SECOND),
        Fault(3 * SECOND, 0, "KillAgent", "injected", "client1", "a", "during"),
        Fault(4 * SECOND, 0, "KillAgent", "healed", "", "a", "during"),
        Reply(ended, "a"),
    ]
    events = events_of(History(happened))
    (start,) = [event for event in events if event["ph"] == "s"]
    (finish,) = [event for event in events if event["ph"] == "f"]
    assert start["ts"] <= finish["ts"]
    assert all(start[each] == finish[each] for each in ("id", "cat", "name"))
    assert finish["bp"] == "e"
    slices = {event["cat"]: event for event in events if event["ph"] == "X"}
    ends = (start, finish) if first == "fault" else (finish, start)
    for arrow, kind in zip(ends, ("fault", "DeleteVolume"), strict=True):
        bound = slices[kind]
        assert (arrow["pid"], arrow["tid"]) == (bound["pid"], bound["tid"])
        assert bound["ts"] <= arrow["ts"] <= bound["ts"] + bound["dur"]


def test_phases_and_elections_are_instants() -> None:
    events = events_of(History([Phase(0, "up"), Leader(SECOND, "server1", 2)]))
    assert [(event["name"], event["ts"]) for event in events if event["ph"] == "i"] == [
        ("up", 0),
        ("server1 leads, term 2", 1_000_000),
    ]
