"""What shows that one plugin waited for another, and what shows nothing."""

import pytest

from stormpool.checkers.plugins_are_independent import plugins_are_independent
from stormpool.events import SECOND, Call, Event, Operation, Reply, Volume
from stormpool.history import History
from stormpool.verdict import Outcome

VOLUMES: list[Event] = [Volume(0, "vol1", "slow"), Volume(0, "vol2", "quick")]


def attaches(plugin: str, volume: str, start: float, end: float) -> list[Event]:
    sent, left = int(start * SECOND), int(end * SECOND)
    call = Call(sent, volume, plugin, "client1", "ControllerPublishVolume", volume, sent=sent)
    return [call, Reply(left, volume)]


def wants(start: float, end: float, error: str = "") -> Operation:
    return Operation(int(start * SECOND), "attach", "vol2", int(end * SECOND), "a", "client2", error)


SLOW = attaches("slow", "vol1", 1, 13)


def judge(*events: Event) -> tuple[Outcome, int]:
    verdict = plugins_are_independent(History([*VOLUMES, *events]))
    return verdict.outcome, verdict.judged


def test_one_that_is_attached_meanwhile_was_not_held_up() -> None:
    assert judge(*SLOW, *attaches("quick", "vol2", 3, 4), wants(2, 5)) == (Outcome.VALID, 1)


@pytest.mark.parametrize("asked", [3, 13.1], ids=["in the plugin", "in the agent"])
def test_one_that_is_attached_as_soon_as_the_slow_call_ends_was_held_up(asked: float) -> None:
    late = attaches("quick", "vol2", asked, 13.2)
    assert judge(*SLOW, *late, wants(2, 14)) == (Outcome.INVALID, 1)


def test_what_is_never_attached_did_not_wait_for_a_call_that_never_ends() -> None:
    endless = SLOW[:1]
    assert judge(*endless, wants(2, 62, "allocation is pending")) == (Outcome.UNKNOWN, 0)
    assert judge(*endless, *attaches("quick", "vol2", 3, 4), wants(2, 5)) == (Outcome.VALID, 1)


@pytest.mark.parametrize(
    "events",
    [
        [wants(2, 62, "allocation is pending")],
        [wants(2, 2.1, "refused")],
        [*attaches("quick", "vol2", 9, 10), wants(2, 11)],
        [*attaches("quick", "vol2", 39, 40), wants(2, 41)],
        [*attaches("quick", "vol2", 13, 14), wants(2, 15), wants(0, 12)],
    ],
    ids=["never attached", "refused", "before the slow call ended", "long after", "wanted by two"],
)
def test_what_has_a_reason_of_its_own_is_not_judged(events: list[Event]) -> None:
    assert judge(*SLOW, *events) == (Outcome.UNKNOWN, 0)
