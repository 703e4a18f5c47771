"""Progress and claims are judged each time that all should have settled, not only the last."""

import pytest
from msgspec import structs

from stormpool import guarantees
from stormpool.events import SECOND, Alloc, Books, Event, Fault, Observed, Operation, Phase, Volume
from stormpool.history import History
from stormpool.verdict import Outcome, Verdict

CLAIMED = {"vol1": ["gone"]}
GONE = [Alloc("gone", "consumer-vol1", "client1", "stop", "complete")]


def two_acts(first: Books, *others: Event) -> History:
    """A run whose second act is well."""
    acts = [Phase(1 * SECOND, "workload"), Phase(9 * SECOND, "workload")]
    looks = [Observed(t * SECOND, "client1", settled=True) for t in (6, 16)]
    after = Books(15 * SECOND, {"vol1": []}, [], [], 1.0)
    return History([Volume(0, "vol1", "zfs", "single-node-writer"), *acts, first, *looks, after, *others])


def begun(t: int, error: str = "") -> Operation:
    return Operation(t * SECOND, "attach", "vol1", (t + 1) * SECOND, "alloc", "client1", error)


def test_what_did_not_settle_after_the_first_act_is_told_of() -> None:
    history = two_acts(Books(5 * SECOND, CLAIMED, GONE, [], -1.0))
    assert guarantees.progress(history).outcome is Outcome.INVALID
    claims = guarantees.claims_match_reality(history)
    assert claims.outcome is Outcome.INVALID
    assert "claimed by allocation gone" in claims.witnesses[0].what


def test_two_acts_that_are_well() -> None:
    history = two_acts(Books(5 * SECOND, {"vol1": []}, GONE, [], 1.0), begun(2), begun(10))
    assert guarantees.progress(history).outcome is Outcome.VALID
    assert guarantees.claims_match_reality(history).outcome is Outcome.VALID


def judged(*events: Event) -> Verdict:
    return guarantees.progress(two_acts(Books(5 * SECOND, {"vol1": []}, [], [], 1.0), *events))


def test_another_try_in_a_later_act_excuses_nothing() -> None:
    fault = Fault(2 * SECOND, 0, "KillAgent", "healed", "client1")
    assert judged(fault, begun(3, "failed"), begun(10)).outcome is Outcome.INVALID
    assert judged(fault, begun(3, "failed"), begun(4)).outcome is Outcome.VALID


def test_a_job_that_the_servers_had_run_at_last_has_come_right_after_a_fault() -> None:
    fault = Fault(2 * SECOND, 0, "KillPlugin", "healed", "client1")
    runs = Operation(4 * SECOND, "run", "vol1", 5 * SECOND, "other", "client1")
    assert judged(fault, begun(3, "allocation is failed"), runs).outcome is Outcome.VALID
    late = structs.replace(runs, error="not within 30 s")
    assert judged(fault, begun(3, "allocation is failed"), late).outcome is Outcome.INVALID
    assert judged(begun(3, "allocation is failed"), runs).outcome is Outcome.INVALID  # nothing was broken
    ends = Operation(3 * SECOND, "detach", "vol1", 4 * SECOND, "alloc", error="not within 30 s")
    assert judged(fault, ends, runs).outcome is Outcome.INVALID


def test_what_fails_while_there_is_a_fault_in_a_later_act_is_not_judged() -> None:
    fault = Fault(12 * SECOND, 0, "KillAgent", "healed", "client1")
    assert judged(begun(2), begun(10, "failed"), fault).outcome is Outcome.VALID
    assert judged(begun(2, "failed"), begun(10), fault).outcome is Outcome.INVALID


@pytest.mark.parametrize("name", ["start", "finish", "stop"])
def test_a_task_that_does_not_end_is_told_of(name: str) -> None:
    begun = Operation(10 * SECOND, name, "task1", 12 * SECOND, error="not within 2 s")
    assert judged(begun).outcome is Outcome.INVALID
