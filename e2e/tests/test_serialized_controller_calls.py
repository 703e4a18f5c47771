"""What counts as an overlap, and what is told apart."""

from hypothesis import given
from hypothesis import strategies as st

from stormpool.checkers.serialized_controller_calls import serialized_controller_calls
from stormpool.history import Call, Event, Gone, History, Leader, Reply
from stormpool.verdict import Outcome


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
    verdict = judge(rpc("a", 0, 10), [Leader(4, "server2", 3)], rpc("b", 5, 15))
    assert verdict == (Outcome.VALID, 0, ["1 overlaps across a change of leader"])


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
