"""What a consumer of a dataset says is read back; and consumers differ in nothing but how they get it."""

import json

import pytest

from stormpool import script, workloads
from stormpool.events import Life, Tried
from stormpool.lab import Lab
from stormpool.nemesis import Plan
from stormpool.script import Act, Script
from stormpool.workloads.dataset_consumer import lives_in, tried_in
from stormpool.workloads.dataset_designs import DESIGNS, FATES, job

SAID = """tries 0 0
begins XXaaaaaa in tank/plain/ds1
wrote XXaaaaaa 1
wrote XXaaaaaa 2
tries 0 0
begins XXbbbbbb in tank/plain/ds1
finds XXbbbbbb 2 alloc1/XXaaaaaa
finds XXbbbbbb 7 alloc9/XXzzzzzz
wrote XXbbbbbb 1
tries 0 0
begins XXcccccc in"""


def test_each_life_is_told_of() -> None:
    assert list(lives_in(SAID, "alloc1", 5)) == [
        Life(5, "alloc1", "XXaaaaaa", 1, "tank/plain/ds1", {}, 2),
        Life(5, "alloc1", "XXbbbbbb", 2, "tank/plain/ds1", {"alloc1/XXaaaaaa": 2, "alloc9/XXzzzzzz": 7}, 1),
        Life(5, "alloc1", "XXcccccc", 3),
    ]


def test_what_was_tried_is_told_of() -> None:
    assert tried_in("tries 0 24\n", "alloc1", "make", 5) == Tried(5, "alloc1", "make", 0, 24)
    assert tried_in("", "alloc1", "make", 5) is None


@pytest.mark.parametrize("fate", FATES)
def test_the_consumer_is_the_same_by_every_design(fate: str) -> None:
    writers = []
    for design in DESIGNS:
        made = job(design, fate, "client1", "vol1")
        assert made["ID"].startswith(DESIGNS[design].jobs)
        (writer,) = [task for task in made["TaskGroups"][0]["Tasks"] if task["Name"] == "writer"]
        shared = {key: writer[key] for key in ("Driver", "Config", "KillTimeout", "LogConfig")}
        writers.append(json.dumps(shared, sort_keys=True))
    assert len(set(writers)) == 1


def test_no_two_designs_share_names() -> None:
    for one in DESIGNS.values():
        others = [each for each in DESIGNS.values() if each is not one]
        assert not any(each.jobs.startswith(one.jobs) for each in others)
        assert not any(each.datasets.startswith(one.datasets) for each in others)


def test_a_storm_is_written_down_and_made_smaller() -> None:
    storm = workloads.storm(fates=("goes-on", "fails-once"))
    assert storm.steps == 2 * len(DESIGNS)
    assert [each.steps for each in storm.smaller()] == [2 * (len(DESIGNS) - 1)] * len(DESIGNS)
    written = Script(Lab(), (Act((storm,), Plan(), 5.0),))
    assert script.decode(script.encode(written)).acts[0].workloads == (storm,)
