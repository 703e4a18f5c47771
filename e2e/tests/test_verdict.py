"""What held although a planned fault never happened was not tried."""

from stormpool.events import Event, Fault
from stormpool.history import History
from stormpool.verdict import Outcome, Verdict, Witness, guarantee


@guarantee("of the tests")
def holds(_: History) -> Verdict:
    """It holds."""
    return holds.found(3, [], nothing="")


@guarantee("of the tests")
def breaks(_: History) -> Verdict:
    """It breaks."""
    return breaks.found(3, [Witness("it broke", 0, 1)], nothing="")


PLANNED = Fault(1, 0, "KillAgent", "planned")


def outcome(*events: Event) -> Outcome:
    return holds(History(events)).outcome


def test_a_fault_that_happened() -> None:
    assert outcome(PLANNED, Fault(2, 0, "KillAgent", "injected", "client1")) is Outcome.VALID


def test_a_fault_that_never_happened() -> None:
    assert outcome(PLANNED) is Outcome.UNKNOWN
    other = Fault(2, 1, "KillAgent", "injected", "client1")
    assert outcome(PLANNED, other) is Outcome.UNKNOWN


def test_a_fault_that_could_not_be_injected_says_why() -> None:
    verdict = holds(History([PLANNED, Fault(2, 0, "KillAgent", "failed", why="nobody holds volume vol1")]))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "KillAgent (nobody holds volume vol1) was planned and never happened" in verdict.why


def test_a_fault_that_need_not_happen() -> None:
    assert outcome(Fault(1, 0, "KillAgent", "planned", optional=True)) is Outcome.VALID


def test_what_broke_broke() -> None:
    assert breaks(History([PLANNED])).outcome is Outcome.INVALID
