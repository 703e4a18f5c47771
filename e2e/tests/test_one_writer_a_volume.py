"""For how long a task certainly could write: from the first look that showed it to the last."""

import pytest

from stormpool.checkers.one_writer_a_volume import one_writer_a_volume
from stormpool.events import SECOND, Event, Observed, Process, Volume
from stormpool.history import History
from stormpool.verdict import Outcome

VOLUME = Volume(0, "vol1", "zfs")


def look(at: int, node: str, *allocs: str) -> Observed:
    seen = [Process(1, 1, "writer", alloc=alloc, writes=["pool/vol1"]) for alloc in allocs]
    return Observed(at * SECOND, node, since=max(0, at - 1) * SECOND, processes=seen)


def outcome(*events: Event) -> Outcome:
    return one_writer_a_volume(History([VOLUME, *events])).outcome


def test_a_task_was_there_until_its_node_crashed() -> None:
    """What its observer told last is evidence, though it never told of an end."""
    until_it_crashed = [*(look(at, "client1", "a") for at in range(1, 21)), Observed(21 * SECOND, "client1")]
    assert outcome(*until_it_crashed, look(5, "client2", "b")) is Outcome.INVALID
    assert outcome(*until_it_crashed, look(21, "client2", "b")) is Outcome.VALID


def test_what_nobody_saw_any_more_is_not_held_against_anybody() -> None:
    assert outcome(look(1, "client1", "a"), look(5, "client2", "b")) is Outcome.VALID


@pytest.mark.parametrize(
    ("access", "judged"),
    [
        ("single-node-writer", Outcome.INVALID),
        ("multi-node-single-writer", Outcome.INVALID),
        ("multi-node-multi-writer", Outcome.UNKNOWN),
    ],
)
def test_only_volumes_made_for_one_writer_are_judged(access: str, judged: Outcome) -> None:
    two = [look(at, f"client{number}", name) for at in (1, 2) for number, name in enumerate("ab")]
    assert one_writer_a_volume(History([Volume(0, "vol1", "zfs", access), *two])).outcome is judged
