"""Claims are linearizable: what turns it red, what is left to doubt, what is not held against anybody."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from stormpool.checkers import claims_are_linearizable as checker
from stormpool.events import SECOND, Event, Leader, Operation, Volume
from stormpool.guarantees import claims_are_linearizable
from stormpool.history import History
from stormpool.models.claims import REFUSED
from stormpool.verdict import Outcome, Verdict

HISTORIES = Path(__file__).parents[2] / "fixtures" / "histories"
CONTENDED = HISTORIES / "good" / "nomad-1.10.5-contended-leader-killed.jsonl"
STALE = HISTORIES / "bad" / "claims-are-linearizable" / "nomad-1.10.5-stale-reads.jsonl"


def op(name: str, start: float, end: float, alloc: str = "", error: str = "") -> Operation:
    return Operation(int(start * SECOND), name, "vol1", int(end * SECOND), alloc, "client1", error)


def read(start: float, end: float, *held: str) -> Operation:
    return Operation(int(start * SECOND), "read", "vol1", int(end * SECOND), held=list(held))


def judged(*events: Event, access: str = "single-node-writer") -> Verdict:
    return claims_are_linearizable(History([Volume(0, "vol1", "zfs", access), *events]))


def changed(path: Path, change: Callable[[Operation], Operation | None]) -> History:
    """A recorded history with its operations changed or left out."""
    events: list[Event] = []
    for event in History.decode(path.read_bytes()).events:
        kept = change(event) if isinstance(event, Operation) else event
        events += [kept] if kept is not None else []
    return History(events)


def test_two_holders_at_once_break_it_and_are_named() -> None:
    verdict = judged(
        op("attach", 1, 2, "aaaaaaaa"), op("attach", 3, 4, "bbbbbbbb"), op("detach", 5, 6, "aaaaaaaa")
    )
    assert verdict.outcome is Outcome.INVALID
    (witness,) = verdict.witnesses
    assert witness.what == (
        "allocation bbbbbbbb claimed vol1 from 3.000 s to 4.000 s, when allocation aaaaaaaa held it: "
        "of its 3 operations no order explains more than 1"
    )
    assert (witness.start, witness.end, witness.nodes) == (3 * SECOND, 4 * SECOND, ["client1"])


def test_many_may_hold_a_volume_for_many() -> None:
    events = (op("attach", 1, 2, "a"), op("attach", 3, 4, "b"), read(5, 6, "a", "b"))
    assert judged(*events, access="multi-node-multi-writer").outcome is Outcome.VALID


def test_one_at_most_may_hold_a_volume_that_many_nodes_have_and_one_writes_to() -> None:
    events = (op("attach", 1, 2, "a"), op("attach", 3, 4, "b"), op("detach", 5, 6, "a"))
    assert judged(*events, access="multi-node-single-writer").outcome is Outcome.INVALID


def test_one_after_the_other_is_in_order_and_so_is_the_holder_again() -> None:
    events = (
        op("attach", 1, 2, "a"),
        op("attach", 3, 4, "a"),
        op("detach", 5, 6, "a"),
        op("attach", 7, 8, "b"),
    )
    assert judged(*events).outcome is Outcome.VALID


def test_a_refusal_while_nobody_holds_breaks_it() -> None:
    held, refused = op("attach", 1, 2, "a"), op("attach", 3, 4, error=f"{REFUSED}exhausted")
    assert judged(held, refused).outcome is Outcome.VALID
    assert judged(held, op("detach", 2.2, 2.5, "a"), refused).outcome is Outcome.INVALID


def test_what_failed_may_have_taken_effect_later_or_never() -> None:
    failed = op("attach", 1, 2, "a", error="allocation is pending")
    assert judged(failed, read(3, 4), read(5, 6, "a"), read(7, 8, "a")).outcome is Outcome.VALID
    assert judged(failed, read(3, 4), op("attach", 5, 6, "b")).outcome is Outcome.VALID
    assert judged(failed, read(3, 4, "a"), read(5, 6)).outcome is Outcome.INVALID


def test_a_claim_of_nobody_knows_whom_may_be_that_of_a_stranger() -> None:
    lost = op("attach", 1, 2, error="no answer")
    assert judged(lost, read(3, 4, "x"), read(5, 6)).outcome is Outcome.VALID
    assert judged(read(3, 4, "x")).outcome is Outcome.INVALID
    assert judged(lost, op("attach", 3, 4, error=f"{REFUSED}exhausted")).outcome is Outcome.VALID


def test_a_detach_that_names_nobody_leaves_nobody() -> None:
    assert judged(op("attach", 1, 2, "a"), op("detach", 3, 4), read(5, 6)).outcome is Outcome.VALID
    assert judged(op("attach", 1, 2, "a"), op("detach", 3, 4), read(5, 6, "a")).outcome is Outcome.INVALID


def test_an_old_answer_around_an_election_is_told_apart() -> None:
    events = (op("attach", 10, 11, "a"), read(12, 12.1))
    assert judged(*events).outcome is Outcome.INVALID
    assert judged(*events, Leader(40 * SECOND, "server2", 3)).outcome is Outcome.INVALID
    verdict = judged(*events, Leader(11 * SECOND, "server2", 3))
    assert verdict.outcome is Outcome.VALID
    assert verdict.apart == ["what was read of vol1 around an election"]


def test_a_search_without_an_end_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "BUDGET", 1)
    verdict = judged(op("attach", 1, 2, "a"), op("detach", 3, 4, "a"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.why == "no order of what was done to vol1 was found in 1 steps"


def test_a_recorded_history_turns_red_when_a_read_is_changed() -> None:
    def forgetful(event: Operation) -> Operation:
        return msgspec.structs.replace(event, held=[]) if event.name == "read" else event

    assert claims_are_linearizable(changed(CONTENDED, lambda event: event)).outcome is Outcome.VALID
    broken = changed(CONTENDED, forgetful)
    calm = History([event for event in broken.events if not isinstance(event, Leader)])
    assert claims_are_linearizable(calm).outcome is Outcome.INVALID


def test_without_the_followers_own_copies_the_stale_history_holds() -> None:
    def leaders(event: Operation) -> Operation | None:
        return None if event.node.startswith("server") else event

    assert claims_are_linearizable(changed(STALE, leaders)).outcome is Outcome.VALID
