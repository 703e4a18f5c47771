"""What counts as an overlap, and what is told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool.checkers.serialized_controller_calls import ENDING, serialized_controller_calls
from stormpool.events import SECOND, Call, Event, Fault, Gone, Leader, Reply
from stormpool.history import History
from stormpool.verdict import Outcome

TERMS: list[Event] = [Leader(-9, "server1", 2), Leader(4, "server2", 3)]


def rpc(
    id: str, start: int, end: int | None, *, plugin: str = "zfs", method: str = "ControllerPublishVolume"
) -> list[Event]:
    sent = start + 1  # a call that was sent at 0 was never sent
    call = Call(sent, id, plugin, "client1", method, volume=id, target="client2", sent=sent)
    return [call] if end is None else [call, Reply(end + 1, id)]


def judge(*calls: list[Event]) -> tuple[Outcome, int, list[str]]:
    verdict = serialized_controller_calls(History([event for call in calls for event in call]))
    return verdict.outcome, verdict.broken, verdict.apart


def test_one_after_another_is_valid() -> None:
    assert judge(rpc("a", 0, 10), rpc("b", 10, 20)) == (Outcome.VALID, 0, [])


def test_at_once_is_invalid_for_each_pair() -> None:
    assert judge(rpc("a", 0, 10), rpc("b", 5, 15), rpc("c", 9, 12))[:2] == (Outcome.INVALID, 3)


def test_two_plugins_do_not_wait_for_each_other() -> None:
    assert judge(rpc("a", 0, 10), rpc("b", 5, 15, plugin="other"))[0] is Outcome.VALID


def test_a_call_without_an_answer_goes_on() -> None:
    assert judge(rpc("a", 0, None), rpc("b", 50, 60))[:2] == (Outcome.INVALID, 1)


def test_a_call_that_was_given_up_is_over() -> None:
    given_up = [*rpc("a", 0, None), Gone(20, "a", "caller")]
    assert judge(given_up, rpc("b", 50, 60))[0] is Outcome.VALID


def test_an_overlap_across_a_change_of_leader_is_told_apart() -> None:
    verdict = judge(TERMS, rpc("a", 0, 10), rpc("b", 5, 15), rpc("c", 20, 30))
    assert verdict == (Outcome.VALID, 0, ["1 overlaps across a change of leader"])


def test_what_was_only_told_apart_was_not_judged() -> None:
    verdict = judge(TERMS, rpc("a", 0, 10), rpc("b", 5, 15))
    assert verdict == (Outcome.UNKNOWN, 0, ["1 overlaps across a change of leader"])


def test_the_first_leader_that_is_told_of_is_no_change() -> None:
    assert judge([Leader(4, "server2", 3)], rpc("a", 0, 10), rpc("b", 5, 15))[:2] == (Outcome.INVALID, 1)


def test_one_that_led_before_may_go_on_with_what_it_had_taken_on() -> None:
    late = (rpc("a", 9 * SECOND, 12 * SECOND), rpc("b", 10 * SECOND, 11 * SECOND))
    assert judge(TERMS, *late)[1:] == (0, ["1 overlaps across a change of leader"])


def test_each_serializer_lets_only_one_call_through() -> None:
    late = (rpc(name, 9 * SECOND + at, 12 * SECOND) for at, name in enumerate("abc"))
    assert judge(TERMS, *late)[:2] == (Outcome.INVALID, 2)


def test_two_minutes_after_an_election_only_one_server_is_at_it() -> None:
    late = (rpc("a", 130 * SECOND, 132 * SECOND), rpc("b", 131 * SECOND, 133 * SECOND))
    assert judge(TERMS, *late)[:2] == (Outcome.INVALID, 1)


@pytest.mark.parametrize("name", sorted(ENDING))
@pytest.mark.parametrize("subject", ["server1", "client1, server1"])
def test_a_leader_whose_process_was_ended_goes_on_with_nothing(subject: str, name: str) -> None:
    killed: list[Event] = [Fault(3, 0, name, "injected", subject)]
    late = (rpc("a", 9 * SECOND, 12 * SECOND), rpc("b", 10 * SECOND, 11 * SECOND))
    assert judge(TERMS, killed, *late)[:2] == (Outcome.INVALID, 1)
    assert judge(TERMS, killed, rpc("c", 0, 20 * SECOND), late[0])[1] == 0  # on its way when it ended


def test_one_that_is_ended_once_another_leads_goes_on_with_nothing() -> None:
    killed: list[Event] = [Fault(8 * SECOND, 0, "KillAgent", "injected", "server1")]
    late = (rpc("a", 10 * SECOND, 12 * SECOND), rpc("b", 11 * SECOND, 13 * SECOND))
    assert judge(TERMS, killed, *late)[:2] == (Outcome.INVALID, 1)
    assert judge(TERMS, *late)[:2] == (Outcome.UNKNOWN, 0)


# Each leaves two servers that can be at it when three calls are: one led twice, or one was killed.
TWO_CAN: dict[str, list[Event]] = {
    "leads again": [Leader(-9, "server1", 2), Leader(2, "server2", 3), Leader(4, "server1", 4)],
    "killed": [
        Leader(-9, "server1", 2),
        Leader(2, "server2", 3),
        Fault(3, 0, "KillAgent", "injected", "server2"),
        Leader(4, "server3", 4),
    ],
}


@pytest.mark.parametrize("terms", TWO_CAN.values(), ids=TWO_CAN)
def test_servers_are_counted_and_not_changes_of_leader(terms: list[Event]) -> None:
    late = [rpc(name, 9 * SECOND + at, 12 * SECOND) for at, name in enumerate("abc")]
    assert judge(terms, *late[:2])[:2] == (Outcome.UNKNOWN, 0)
    assert judge(terms, *late)[0] is Outcome.INVALID


def test_calls_of_every_term_are_not_of_more_servers_than_led() -> None:
    each = [rpc("a", 0, 30), rpc("b", 2, 31), rpc("c", 4, 32)]
    assert judge(TWO_CAN["leads again"], *each)[0] is Outcome.INVALID
    assert judge(TWO_CAN["killed"], *each)[:2] == (Outcome.UNKNOWN, 0)  # three servers made them


def test_one_that_was_ended_and_leads_again_is_another_server() -> None:
    """Its plugin goes on with the call of its former life."""
    terms = [*TWO_CAN["leads again"], Fault(3, 0, "KillAgent", "injected", "server1")]
    each = [rpc("a", 0, 30 * SECOND), rpc("b", 2, 30 * SECOND), rpc("c", 9 * SECOND, 30 * SECOND)]
    assert judge(terms, *each)[:2] == (Outcome.UNKNOWN, 0)


def test_one_that_leads_again_has_its_serializer_still() -> None:
    again: list[Event] = [Leader(-9, "server1", 2), Leader(4, "server1", 3)]
    late = (rpc("a", 9 * SECOND, 12 * SECOND), rpc("b", 10 * SECOND, 11 * SECOND))
    assert judge(again, *late)[:2] == (Outcome.INVALID, 1)


def test_a_call_that_was_held_on_its_way_comes_when_the_plugin_has_it() -> None:
    held: list[Event] = [
        Call(SECOND, "a", "zfs", "client1", "ControllerPublishVolume", sent=10 * SECOND),
        Reply(11 * SECOND, "a"),
    ]
    assert judge(held, rpc("b", 2 * SECOND, 3 * SECOND)) == (Outcome.VALID, 0, [])
    assert judge(held, rpc("c", 9 * SECOND, 12 * SECOND))[:2] == (Outcome.INVALID, 1)


def test_what_agents_do_not_serialize_is_told_apart() -> None:
    verdict = judge(rpc("a", 0, 10), rpc("b", 5, 15, method="CreateVolume"))
    assert verdict == (Outcome.VALID, 0, ["1 overlaps with a call that agents do not serialize"])


def test_calls_that_only_ask_are_not_judged() -> None:
    assert judge(rpc("a", 0, 10, method="Probe"), rpc("b", 5, 15, method="ListVolumes"))[0] is Outcome.UNKNOWN


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 50)), max_size=30))
def test_it_finds_just_the_pairs_that_overlap(spans: list[tuple[int, int]]) -> None:
    calls = [rpc(str(number), start, start + length) for number, (start, length) in enumerate(spans)]
    pairs = sum(
        max(one[0], other[0]) < min(one[0] + one[1], other[0] + other[1])
        for number, one in enumerate(spans)
        for other in spans[:number]
    )
    assert judge(*calls)[1] == pairs
