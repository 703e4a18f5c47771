"""What stayed of datasets, what went too soon and what it cost is counted from a history alone."""

from collections.abc import Iterable

import pytest

from stormpool.events import (
    SECOND,
    Alloc,
    AllocView,
    Books,
    Call,
    Census,
    Datasets,
    Design,
    Event,
    Life,
    Observed,
    Operation,
    Process,
    Reply,
    TaskView,
    Tried,
)
from stormpool.history import History
from stormpool.leaks import Row, table, tally
from stormpool.leaks.event import event_of

A1, A2 = ("0b8e12ab-1111-4222-8333-123456789abc", "1c9f23bc-1111-4222-8333-123456789abc")
MINE = "tank/mine/ds1"
DESIGN = Design(0, "mine", "storm-mine-", "tank/mine/")
VOLUMES = Design(0, "volumes", "storm-mine-", "tank/vol", volumes=True)


def view(t: float, alloc: str = A1, status: str = "running", desired: str = "run") -> AllocView:
    told = Alloc(alloc, "storm-mine-goes-on", "client1", desired, status)
    return AllocView(round(t * SECOND), told)


def look(t: float, made: dict[str, int], mounted: Iterable[str] | None = None) -> Datasets:
    there = {"tank": 1, "tank/mine": 1, **made}
    return Datasets(round(t * SECOND), "client1", 0, there, sorted(made if mounted is None else mounted))


def last(*datasets: str) -> Observed:
    return Observed(60 * SECOND, "client1", datasets=["tank", "tank/mine", *datasets], settled=True)


def life(number: int, wrote: int, found: dict[str, int] | None = None, dataset: str = MINE) -> Life:
    return Life(50 * SECOND, A1, f"life{number}", number, dataset, found or {}, wrote)


def row(*events: Event, design: Design = DESIGN) -> Row:
    (found,) = tally(History([design, *events]))
    return found


LIVED = (view(1), look(2, {MINE: 10}), life(1, 20), view(9, desired="stop"))


def test_one_that_is_gone_was_collected() -> None:
    done = row(*LIVED, view(10, status="complete", desired="stop"), look(10.5, {}), last())
    assert (done.allocations, done.datasets) == (1, 1)
    assert done.collected == [0.5]
    assert [*done.leaked, *done.lost, *done.data_lost, *done.strangers] == []


def test_one_that_was_gone_before_its_end_took_no_time() -> None:
    done = row(*LIVED, look(9.8, {}), view(10, status="complete", desired="stop"), last())
    assert done.collected == [0.0]
    assert done.lost == []


def test_one_that_is_there_is_leaked_unless_somebody_has_it() -> None:
    over = view(10, status="complete", desired="stop")
    done = row(*LIVED, over, last(MINE))
    assert done.leaked == [f"{MINE} on client1"]
    assert done.collected == []
    live = Books(55 * SECOND, {}, [Alloc(A1, "storm-mine-goes-on", "client1", "run", "running")])
    assert row(*LIVED, live, last(MINE)).leaked == []


@pytest.mark.parametrize(("error", "leaked", "kept"), [("", 1, 0), ("volume in use", 0, 1), (None, 0, 1)])
def test_a_volume_that_nobody_deleted_is_kept(error: str | None, leaked: int, kept: int) -> None:
    deletions = [] if error is None else [Operation(1, "delete", "vol1", 2, error=error)]
    volume = "tank/vol1"
    there = [view(1), look(2, {volume: 1}), life(1, 1, dataset=volume)]
    done = row(*there, *deletions, last(volume), design=VOLUMES)
    assert (len(done.leaked), len(done.kept)) == (leaked, kept)


def test_a_volume_is_collected_once_from_when_its_operator_wants_it_gone() -> None:
    volume = "tank/vol1"
    lives = [Life(9, id, f"of {id}", 1, volume, {}, 1) for id in (A1, A2)]
    events = [
        *(view(1), view(1, A2), look(2, {volume: 1}), *lives),
        *(view(5, A1, "complete", "stop"), view(20, A2, "complete", "stop")),
        Operation(30 * SECOND, "delete", "vol1", 31 * SECOND),
        *(look(31, {}), last()),
    ]
    assert row(*events, design=VOLUMES).collected == [1.0]


def test_one_that_the_servers_forget_is_over() -> None:
    forgotten = AllocView(10 * SECOND, view(9).alloc, forgotten=True)
    done = row(*LIVED[:3], forgotten, look(10.25, {}), last())
    assert done.collected == [0.25]
    assert done.lost == []


def test_one_that_goes_under_a_live_allocation_is_lost() -> None:
    done = row(*LIVED[:3], look(5, {}), view(9, desired="stop"), last())
    assert done.lost == [f"{MINE} on client1 of allocation 0b8e12ab was gone at 5.000 s"]
    assert done.data_lost == ["20 of 20 writes of life 1 of allocation 0b8e12ab"]
    done = row(*LIVED[:3], look(5, {MINE: 10}, mounted=[]), view(9, desired="stop"), last())
    assert done.lost == [f"{MINE} on client1 of allocation 0b8e12ab was not mounted at 5.000 s"]


def test_one_that_is_made_anew_under_a_live_allocation_is_lost() -> None:
    assert len(row(*LIVED[:3], look(5, {MINE: 11}), view(9, desired="stop"), last()).lost) == 1


def test_what_an_earlier_holder_had_is_not_lost_with_it() -> None:
    earlier = [view(0.1, A2), look(0.2, {MINE: 5}), view(0.3, A2, "complete", "stop")]
    assert row(*earlier, *LIVED, last()).lost == []


def test_a_life_that_finds_no_dataset_has_lost_it() -> None:
    done = row(*LIVED, life(2, 0, dataset=""), last())
    assert done.lost == ["life 2 of allocation 0b8e12ab found no dataset"]
    assert done.data_lost == ["20 of 20 writes of life 1 of allocation 0b8e12ab"]


def test_data_is_lost_that_a_later_life_of_the_allocation_does_not_find() -> None:
    assert row(*LIVED, life(2, 5, {f"{A1}/life1": 20}), last()).data_lost == []
    done = row(*LIVED, life(2, 5, {f"{A1}/life1": 17}), last())
    assert done.data_lost == ["3 of 20 writes of life 1 of allocation 0b8e12ab"]


def test_what_was_told_last_of_a_life_counts() -> None:
    early = Life(3 * SECOND, A1, "life1", 1, MINE, {}, 2)
    assert row(early, *LIVED, life(2, 5, {f"{A1}/life1": 20}), last()).data_lost == []


def test_writes_of_another_allocation_are_a_strangers() -> None:
    found = {f"{A2}/other": 4}
    done = row(*LIVED[:2], life(1, 1, found), last())
    assert done.strangers == ["4 writes of allocation 1c9f23bc found by allocation 0b8e12ab"]
    both = [view(0.5, A2, "failed"), view(1), life(1, 1, found, dataset="tank/vol1")]
    assert row(*both, last(), design=VOLUMES).strangers == []


def test_processes_beside_the_consumers_own_are_counted() -> None:
    census = Census(3 * SECOND, [TaskView(A1, "writer", "client1", "running", "zfs_driver")])
    processes = [
        Process(5, 1, "python3", "python3 -m zfs_driver executor", 1, A1),
        Process(6, 1, "nomad", "/nomad logmon", 1, A1),
        Process(7, 1, "nomad", "/nomad logmon", 1, A1),
        Process(8, 1, "sh", "sh", 5, A1, "writer"),
        Process(9, 1, "sh", "sh", 5, A1, "make"),
        Process(10, 1, "sh", "sh", 5, A2, "writer"),
    ]
    seen = Observed(3 * SECOND + 1, "client1", processes=processes, whole=True)
    assert row(*LIVED, census, seen, last()).processes == [2]


def test_a_task_that_reads_what_only_root_can_has_gained() -> None:
    assert row(*LIVED, Tried(5, A1, "writer", 0, 0), last()).gains == []
    assert len(row(*LIVED, Tried(5, A1, "make", 0, 24), last()).gains) == 1


def test_runs_are_counted_together_by_event_and_design() -> None:
    one, other = Row("mine", 2, 2, ["a"], collected=[1.0, 3.0]), Row("mine", 1, 1, collected=[2.0])
    (stop, fail) = table.cells([("a stop", one), ("a fail", Row("mine", 1, 1)), ("a stop", other)])
    assert (stop.event, stop.runs, stop.allocations, stop.leaked) == ("a stop", 2, 3, 1)
    assert stop.collected == table.Spread(2.0, 1.0, 3.0, 3)
    assert fail.collected is None
    assert "| a stop | mine | 2 | 3 | 1 of 3 |" in table.markdown([stop])
    assert "<td>2.00 s (1.00 to 3.00; 3)" in table.html([stop])


def test_what_names_say_is_no_markup() -> None:
    assert "<b>" not in table.html(table.cells([("<b>", Row("<b>", 0, 0))]))


def test_a_scenarios_name_says_the_event() -> None:
    assert event_of("scenarios/test_the_storm.py::test_a_node_is_drained") == "a node is drained"


def test_what_is_to_stop_and_runs_on_holds_nothing() -> None:
    stuck = Books(55 * SECOND, {}, [Alloc(A1, "storm-mine-goes-on", "client1", "stop", "running")])
    assert row(*LIVED, stuck, last(MINE)).leaked == [f"{MINE} on client1"]


def test_the_writes_of_a_volume_that_a_later_allocation_did_not_find_are_lost() -> None:
    volume = "tank/vol1"
    there = [view(1), view(10, A2), look(2, {volume: 1}), life(1, 40, dataset=volume)]

    def heir(found: int) -> Life:
        return Life(50 * SECOND, A2, "heir", 1, volume, {f"{A1}/life1": found}, 1)

    assert row(*there, heir(40), design=VOLUMES).data_lost == []
    assert row(*there, heir(30), design=VOLUMES).data_lost == [
        "10 of 40 writes of life 1 of allocation 0b8e12ab"
    ]
    assert row(*there, heir(30)).data_lost == []


def test_an_allocation_of_which_nothing_was_read_is_told_apart() -> None:
    assert len(row(view(1), look(2, {MINE: 10})).unread) == 1
    assert row(*LIVED).unread == []
    assert row(view(1, status="pending")).unread == []


def test_a_dataset_goes_once_its_task_has_failed_for_good() -> None:
    """The servers are told later than the client knows."""

    def call(t: float, method: str, answered: float = 0) -> list[Event]:
        id = f"{method}{t}"
        asked = Call(round(t * SECOND), id, "zfs_driver", "client1", method, task=f"{A1}/writer/1", sent=1)
        return [asked, *([Reply(round(answered * SECOND), id)] if answered else [])]

    failed = [look(5.1, {}), view(6, status="failed"), last()]
    there = [view(1), look(2, {MINE: 10}), life(1, 20), *call(1.5, "StartTask", 1.6)]
    assert row(*there, *call(1.7, "WaitTask", 5), *failed).lost == []
    assert len(row(*there, *call(1.7, "WaitTask"), *failed).lost) == 1
    again = call(5.05, "StartTask", 5.06)
    assert len(row(*there, *call(1.7, "WaitTask", 5), *again, *failed).lost) == 1
