"""What is told of what the servers hold for true: since when, and when nobody could say."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest

from stormpool import watch
from stormpool.checkers.lowest_healthy_controller import STEADY, lowest_healthy_controller
from stormpool.errors import TimedOut
from stormpool.events import SECOND, AllocView, Call, Event, Leader, Member, PluginView, Unwatched
from stormpool.history import History
from stormpool.lab import Lab
from stormpool.store import Recorder, RunDirectory
from stormpool.verdict import Outcome
from stormpool.wait import wait_until


class Clock:
    """The monotonic clock, set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100 * SECOND
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def watching(run: RunDirectory) -> tuple[watch.Watch, Recorder]:
    recorder = Recorder(run.history)
    return watch.Watch(Lab(), cast(Any, None), run.logs, recorder), recorder


def test_what_is_told_again_in_another_turn_has_its_true_time(tmp_path: Path, clock: Clock) -> None:
    first, second = RunDirectory.create(tmp_path, "first"), RunDirectory.create(tmp_path, "second")
    seen, recorder = watching(first)
    seen.tell("leader", Leader(2 * SECOND, "server1", 2))
    clock.now += 30 * SECOND
    recorder.turn_to(second.history)
    clock.now += SECOND
    seen.retell()
    seen.tell("leader", Leader(SECOND, "server1", 2))  # no news
    assert list(second.read_history().events) == [Leader(-28 * SECOND, "server1", 2)]


def test_allocations_are_told_of_when_they_change_and_when_they_are_forgotten(
    tmp_path: Path, clock: Clock
) -> None:
    run = RunDirectory.create(tmp_path, "run")
    seen, recorder = watching(run)
    tell = seen.of_allocations()
    clock.now += 9 * SECOND
    stub: dict[str, Any] = {
        "ID": "a1",
        "JobID": "job",
        "NodeName": "client1",
        "DesiredStatus": "run",
        "ClientStatus": "running",
    }
    stub["ModifyTime"] = recorder.zero_wall + 3 * SECOND
    tell([stub])
    tell([stub])
    tell([])
    tell([])
    told = run.read_history().of(AllocView)
    assert [(each.t, each.forgotten) for each in told] == [(3 * SECOND, False), (9 * SECOND, True)]


class Unchanging:
    """Servers whose answer is always the same."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def api(self, _: str) -> Unchanging:
        return self

    def until(self, path: str, holds: Callable[[object], bool], **_: object) -> object:
        """The answer, where it is news; a moment later that there is none."""
        if holds(self._answer):
            return self._answer
        time.sleep(0.001)
        raise TimedOut(path)


def test_what_servers_still_say_once_they_are_set_back_is_told_where_it_was_not_kept(tmp_path: Path) -> None:
    """A copy that is made before the watch has heard of a change has the change in it."""
    run = RunDirectory.create(tmp_path, "run")
    stub = {"ID": "a1", "JobID": "job", "DesiredStatus": "run", "ClientStatus": "running", "ModifyTime": 0}
    agents = cast(Any, Unchanging([{**stub, "NodeName": "client1"}]))
    seen = watch.Watch(Lab(), agents, run.logs, Recorder(run.history))
    seen.keep()
    seen.allocations()

    def told(count: int) -> None:
        wait_until("it is told", lambda: len(run.read_history().of(AllocView)) == count, timeout=10)

    told(1)
    seen.take_back()
    told(2)
    seen.stop()


def test_a_silence_is_told_as_it_goes_on_and_once(tmp_path: Path, clock: Clock) -> None:
    run = RunDirectory.create(tmp_path, "run")
    seen, _ = watching(run)
    seen.heard("nodes")
    for _ in range(12):  # four seconds and some
        clock.now += SECOND * 2 // 5
        seen.tell_silences()
    seen.heard("nodes")
    clock.now += SECOND // 2
    seen.heard("nodes")
    told = run.read_history().of(Unwatched)
    assert [(each.since, each.t) for each in told] == [
        (at * SECOND * 6 // 5, (at + 1) * SECOND * 6 // 5) for at in range(4)
    ]


def test_no_silence_that_a_checker_would_judge_goes_untold() -> None:
    assert watch.SILENT <= STEADY


def test_nothing_is_judged_while_nobody_said_what_the_servers_hold_for_true() -> None:
    """A server that is asked was paused as the health changed: that is told late, the call was right."""
    told: list[Event] = [
        Member(0, "client1", "1", "ready"),
        Member(0, "client2", "2", "ready"),
        PluginView(0, "zfs", {"1": True, "2": True}),
        Call(10 * SECOND, "a", "zfs", "client2", "DeleteVolume", sent=10 * SECOND),
        PluginView(20 * SECOND, "zfs", {"1": False, "2": True}),
    ]
    assert lowest_healthy_controller(History(told)).outcome is Outcome.INVALID
    silent = Unwatched(20 * SECOND, since=8 * SECOND)
    assert lowest_healthy_controller(History([*told, silent])).outcome is Outcome.UNKNOWN


# As agents of these versions wrote it, between other lines.
BEFORE = """\
    2026-11-21T12:09:33.195Z [INFO]  nomad.raft: entering follower state: follower="Node at 10.77.0.1" leader=
    2026-11-21T12:09:34.966Z [WARN]  nomad.raft: heartbeat timeout reached, starting election: last-leader=
"""
CANDIDATE = """\
    2026-11-21T12:09:34.966Z [INFO]  nomad.raft: entering candidate state: node="Node at 10.77.0.1" term=7
"""
WON_1_3_1 = """\
    2026-11-21T12:09:34.967Z [INFO]  nomad.raft: election won: tally=1
"""
WON = """\
    2026-11-21T12:09:34.967Z [INFO]  nomad.raft: election won: term=7 tally=1
"""
SEVENTH = ("2026-11-21T12:09:34.967Z", 7)


@pytest.mark.parametrize("won", [WON_1_3_1, WON], ids=["1.3.1", "1.6.1"])
@pytest.mark.parametrize("cut", [0, 1, 20])
def test_an_election_is_seen_in_however_many_reads_its_lines_come(tmp_path: Path, won: str, cut: int) -> None:
    log = tmp_path / "server1.log"
    elections = watch.Elections(log)
    assert list(elections.won()) == []  # there is no log yet
    text = BEFORE + CANDIDATE + won
    at = len(BEFORE + CANDIDATE) + cut
    log.write_text(text[:at])
    assert list(elections.won()) == []
    log.write_text(text)
    assert list(elections.won()) == [SEVENTH]
    assert list(elections.won()) == []


def test_an_election_without_a_term_is_of_the_one_its_server_stood_for_last(tmp_path: Path) -> None:
    log = tmp_path / "server1.log"
    log.write_text(CANDIDATE + CANDIDATE.replace("term=7", "term=8") + WON_1_3_1)
    assert [term for _, term in watch.Elections(log).won()] == [8]


def test_an_election_of_which_nobody_said_the_term_is_not_told(tmp_path: Path) -> None:
    log = tmp_path / "server1.log"
    log.write_text(WON_1_3_1)
    assert list(watch.Elections(log).won()) == []


def test_what_servers_say_they_won_is_told_with_their_time(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "run")
    (run.logs / "server1.log").write_text(BEFORE + CANDIDATE + WON_1_3_1)
    seen, recorder = watching(run)
    recorder.zero_wall = int(datetime.fromisoformat("2026-11-21T12:09:30Z").timestamp()) * SECOND
    seen._stop.set()
    seen._watch_elections()
    (leader,) = run.read_history().of(Leader)
    assert (leader.node, leader.term) == ("server1", 7)
    assert leader.t / SECOND == pytest.approx(4.967)
