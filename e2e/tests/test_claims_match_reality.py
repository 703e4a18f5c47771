"""What of claims and writers was judged: a writer is known by its file system's name."""

import pytest

from stormpool.checkers.claims_match_reality import claims_match_reality
from stormpool.events import Alloc, Books, Event, Mount, Observed, Process, Volume
from stormpool.history import History
from stormpool.verdict import Verdict

BEFORE: list[Event] = [Volume(0, "vol1", "zfs"), Volume(0, "vol2", "zfs")]
SETTLED = Books(50, {"vol1": [], "vol2": []}, [Alloc("a", "job", "client1", "run", "running")])
LAST = Observed(60, "client1", settled=True)
UNSEEN = "volumes whose writers were not judged, as none was seen mounted"


def judge(*events: Event) -> Verdict:
    return claims_match_reality(History([*BEFORE, SETTLED, *events]))


def writing(t: int, source: str, *, settled: bool = False) -> Observed:
    writer = Process(1, 1, "writer", alloc="a", task="writer", writes=[source])
    return Observed(t, "client1", settled=settled, processes=[writer])


def test_where_no_volume_was_seen_by_its_name_only_claims_are_judged() -> None:
    verdict = judge(writing(10, "/dev/sdb"), writing(60, "/dev/sdb", settled=True))
    assert (verdict.outcome, verdict.judged, verdict.apart) == ("valid", 2, [f"2 {UNSEEN}"])


@pytest.mark.parametrize(
    "seen",
    [writing(10, "tank/vol1"), Observed(60, "client1", settled=True, mounts=[Mount("vol1", "/m", True)])],
    ids=["in a task", "on a node"],
)
def test_of_a_volume_that_was_seen_writers_are_judged_too(seen: Observed) -> None:
    verdict = judge(seen, LAST)
    assert (verdict.outcome, verdict.judged, verdict.apart) == ("valid", 3, [f"1 {UNSEEN}"])


def test_a_writer_without_a_claim_breaks_it() -> None:
    verdict = judge(writing(60, "tank/vol1", settled=True))
    assert (verdict.outcome, verdict.broken) == ("invalid", 1)
    assert "allocation a writes to volume vol1 on client1 and has no claim on it" in verdict.why


def test_where_no_node_was_looked_at_nothing_is_judged() -> None:
    verdict = judge(writing(10, "tank/vol1"))
    assert (verdict.outcome, verdict.judged, verdict.apart) == ("unknown", 0, [])
