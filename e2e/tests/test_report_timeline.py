"""What the timeline shows: claims, health, status, tasks, calls, and which of them are a breach's."""

from stormpool import guarantees
from stormpool.events import (
    SECOND,
    Alloc,
    Books,
    Call,
    Event,
    Gone,
    Leader,
    Member,
    Observed,
    Operation,
    Phase,
    PluginView,
    Process,
    Reply,
)
from stormpool.history import History
from stormpool.report.span import Span
from stormpool.report.timeline import ROWS, Timeline, natural, timeline

ALLOC = "3f2a0000-0000-0000-0000-000000000000"


def drawn(*events: Event) -> Timeline:
    return timeline(History(events), [])


def times(spans: list[Span], kind: str) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans if span.kind == kind]


def test_a_claim_is_held_from_attached_to_detaching() -> None:
    shown = drawn(
        Operation(10, "attach", "vol1", 20, ALLOC, "client1"),
        Operation(30, "detach", "vol1", 40),
        Operation(50, "attach", "vol1", 60, ALLOC, "client2"),
        Phase(100, "done"),
    )
    assert times(shown.spans, "claim") == [(20, 30), (60, 100)]
    assert times(shown.spans, "detach") == [(30, 40)]
    assert {(lane.group, lane.name, lane.rows) for lane in shown.lanes} == {("volumes", "vol1", 1)}


def test_an_attachment_that_failed_claims_nothing_and_is_bad() -> None:
    shown = drawn(Operation(10, "attach", "vol1", 20, error="allocation is failed"), Phase(30, "done"))
    assert [(span.kind, span.bad, span.outcome) for span in shown.spans] == [
        ("attach", True, "allocation is failed")
    ]


def test_what_the_servers_still_hold_claimed_is_told() -> None:
    books = Books(10, {"vol1": [ALLOC], "vol2": []}, [Alloc(ALLOC, "job", "client1", "stop", "complete")])
    (span,) = drawn(books, Phase(20, "done")).spans
    assert (span.lane, span.start, span.end, span.bad) == ("vol1", 10, 20, True)


def test_a_node_has_the_status_the_servers_held_it_for() -> None:
    shown = drawn(
        Member(10, "client1", "id1", "ready"),
        Member(20, "client1", "id1", "down"),
        Member(30, "client1", "id1", "ready", eligible=False),
        Phase(40, "done"),
    )
    assert [(span.label, span.start, span.end, span.bad) for span in shown.spans] == [
        ("ready", 10, 20, False),
        ("down", 20, 30, True),
        ("ready, not eligible", 30, 40, False),
    ]


def test_a_controller_is_healthy_until_the_servers_no_longer_name_it() -> None:
    shown = drawn(
        Member(1, "client1", "id1", "ready"),
        PluginView(10, "zfs", {"id1": True}),
        PluginView(20, "zfs", {}),
        PluginView(30, "zfs", {"id1": True, "0123456789": True}),
        Phase(40, "done"),
    )
    health = [(span.group, span.label, span.start, span.end) for span in shown.spans if "zfs" in span.label]
    assert health == [
        ("client1", "zfs healthy", 10, 20),
        ("client1", "zfs unhealthy", 20, 30),
        ("client1", "zfs healthy", 30, 40),
        ("01234567", "zfs healthy", 30, 40),
    ]


def test_a_task_that_writes_until_the_end_is_shown_to_the_end() -> None:
    writer = Process(1, 1, "sh", alloc=ALLOC, task="writer", writes=["tank/vol1"])
    shown = drawn(
        Observed(10, "client1", processes=[writer]),
        Observed(20, "client2", processes=[writer]),
        Observed(30, "client2", since=25),
        Phase(40, "done"),
    )
    assert times(shown.spans, "task") == [(10, 40), (20, 25)]


def test_calls_say_what_came_of_them() -> None:
    calls = [Call(10, name, "zfs", "client1", "DeleteVolume", "vol1", sent=10) for name in "abcd"]
    ends = [Reply(20, "a", told=21), Reply(20, "b", "INTERNAL", "no pool", told=21), Gone(20, "c", "plugin")]
    shown = drawn(*calls, *ends, Phase(30, "done"))
    assert sorted((span.id, span.outcome, span.bad, span.end) for span in shown.spans) == [
        ("a", "OK", False, 20),
        ("b", "INTERNAL: no pool", True, 20),
        ("c", "no answer: plugin was gone", True, 20),
        ("d", "no answer until the run ended", True, 30),
    ]


def test_an_answer_in_the_plugins_place_says_what_the_plugin_had_said() -> None:
    calls = [Call(10, name, "zfs", "client1", "DeleteVolume", "vol1", sent=10) for name in "ab"]
    before = Reply(20, "a", "UNAVAILABLE", "refused", told=21, by="tap")
    after = Reply(20, "b", "UNAVAILABLE", "refused", told=21, by="tap", said="OK", said_at=15)
    shown = drawn(*calls, before, after, Phase(30, "done"))
    assert sorted((span.id, span.outcome, span.bad, span.end) for span in shown.spans) == [
        ("a", "UNAVAILABLE: refused (said by a fault, in the plugin's place)", True, 20),
        ("b", "UNAVAILABLE: refused (said by a fault, in place of the plugin's OK)", True, 15),
    ]


def test_calls_that_only_ask_are_not_shown() -> None:
    assert (
        drawn(Call(1, "a", "zfs", "client1", "Probe"), Call(2, "b", "zfs", "client1", "NodeGetInfo")).spans
        == []
    )


def test_a_leader_leads_until_the_next_is_elected() -> None:
    shown = drawn(Leader(10, "server1", 2), Leader(20, "server2", 3), Phase(30, "done"))
    assert [(span.label, span.start, span.end) for span in shown.spans] == [
        ("server1, term 2", 10, 20),
        ("server2, term 3", 20, 30),
    ]


def test_spans_at_once_stand_below_each_other() -> None:
    calls = [Call(number, str(number), "zfs", "client1", "DeleteVolume", sent=1) for number in range(12)]
    shown = drawn(*calls, *(Reply(100, call.id) for call in calls))
    assert shown.rows == [*range(ROWS), *[ROWS - 1] * (12 - ROWS)]
    assert [lane.rows for lane in shown.lanes] == [ROWS]


def test_breaches_come_in_the_order_of_time_with_their_calls() -> None:
    calls = [
        Call(at * SECOND, name, "zfs", "client1", "DeleteVolume", sent=at * SECOND)
        for name, at in (("a", 5), ("b", 5), ("c", 1), ("d", 1))
    ]
    history = History([*calls, *(Reply(call.t + SECOND, call.id) for call in calls)])
    shown = timeline(history, [guarantees.serialized_controller_calls(history)])
    assert [breach.start for breach in shown.breaches] == [SECOND, 5 * SECOND]
    assert [{shown.spans[number].id for number in breach.spans} for breach in shown.breaches] == [
        {"c", "d"},
        {"a", "b"},
    ]
    assert shown.marked == {0, 1, 2, 3}


def test_the_tenth_client_comes_after_the_second() -> None:
    assert sorted(["client10", "client2", "server1", "10", "x²"], key=natural) == [
        "10",
        "client2",
        "client10",
        "server1",
        "x²",
    ]
