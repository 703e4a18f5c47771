"""Datasets are held against who was given the instance they were made for, or whom their names name."""

import json

from msgspec import structs

from stormpool.checkers.dataset_lives_as_long import dataset_lives_as_long
from stormpool.events import Alloc, Books, Call, Census, Design, Event, Observed, Process, Reply, TaskView
from stormpool.history import History
from stormpool.verdict import Outcome, Verdict

ALLOC = "0b8e12ab-1111-4222-8333-123456789abc"
INSTANCE = "zfs/dataset/tank[ds1]"
RESERVE = Call(1, "r", "zfs_device", "client1", "Reserve", args={"device_ids": '["ds1"]'}, sent=1)
MADE = {"container_res": json.dumps({"mounts": [{"host_path": "/devices/ds1-3", "task_path": "/dataset"}]})}
ANSWER = Reply(2, "r", result=MADE)
CENSUS = Census(10, [TaskView(ALLOC, "writer", "client1", "running", "zfs_driver", [INSTANCE])])
DATASET = "tank/devices/ds1-3"


def task(*writes: str) -> Process:
    return Process(20, 500, "sh", "sh", 1, ALLOC, "writer", list(writes))


def during(*processes: Process) -> Observed:
    return Observed(11, "client1", processes=list(processes), whole=True)


def after(*datasets: str) -> Observed:
    return Observed(31, "client1", datasets=list(datasets), whole=True, settled=True)


def books(status: str, devices: list[str]) -> Books:
    return Books(30, {}, [Alloc(ALLOC, "task1", "client1", "run", status, [], devices)])


def judged(*events: Event) -> Verdict:
    return dataset_lives_as_long(History([RESERVE, ANSWER, *events]))


def test_a_live_task_has_the_dataset_of_its_instance() -> None:
    assert judged(CENSUS, during(task(DATASET))).outcome is Outcome.VALID
    verdict = judged(CENSUS, during(task("tank/other")))
    assert verdict.outcome is Outcome.INVALID
    assert (
        "task writer of allocation 0b8e12ab has zfs/dataset/tank[ds1] and not its dataset on client1"
        in verdict.why
    )


def test_a_dataset_whose_instance_nobody_has_was_left() -> None:
    assert judged(books("running", [INSTANCE]), after("tank", DATASET)).outcome is Outcome.VALID
    assert judged(books("complete", [INSTANCE]), after("tank")).outcome is Outcome.VALID
    verdict = judged(books("complete", [INSTANCE]), after("tank", DATASET))
    assert f"dataset {DATASET}, made for device ds1 that nobody has, was left on client1" in verdict.why


def test_a_dataset_that_may_stay_by_design_is_not_held_against_it() -> None:
    may = Design(0, "plain", "storm-", "tank/devices/", collects=False)
    assert judged(may, books("complete", [INSTANCE]), after("tank", DATASET)).outcome is Outcome.VALID


def test_a_dataset_that_names_an_allocation_goes_with_it() -> None:
    named = "tank/tasks/0b8e12ab-writer"
    assert judged(books("running", []), after(named)).outcome is Outcome.VALID
    assert "of an allocation that is over, was left" in judged(books("failed", []), after(named)).why


def test_nothing_is_known_where_no_dataset_was_seen() -> None:
    assert judged().outcome is Outcome.UNKNOWN


def test_a_dataset_of_an_allocation_that_the_servers_have_forgotten_was_left() -> None:
    named = "tank/tasks/0b8e12ab-writer"
    forgotten = Books(30, {}, [])
    assert "of an allocation that is over, was left" in judged(CENSUS, forgotten, after(named)).why
    assert judged(CENSUS, forgotten, after("tank")).outcome is Outcome.VALID


def test_where_zfs_was_silent_nothing_is_known() -> None:
    silent = structs.replace(after(), silent=True)
    assert judged(books("complete", []), silent).outcome is Outcome.UNKNOWN
