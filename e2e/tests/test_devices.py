"""Devices are held against who uses them, what jobs name, and what was done to their pool."""

import json
from typing import Any

import pytest

from stormpool.checkers.device_constraints import device_constraints
from stormpool.checkers.device_news import WITHIN, device_news
from stormpool.checkers.one_task_a_device import one_task_a_device
from stormpool.counting import asked_of
from stormpool.events import (
    SECOND,
    Call,
    Census,
    DeviceView,
    Event,
    Fault,
    Observed,
    Phase,
    Process,
    Reply,
    TaskView,
)
from stormpool.history import History
from stormpool.verdict import Outcome, Verdict

ONE, OTHER = "0b8e12ab-1111-4222-8333-123456789abc", "1c9f23bc-1111-4222-8333-123456789abc"
INSTANCE = "zfs/dataset/tank[ds1]"
RESERVED: list[Event] = [
    Call(1, "r", "zfs_device", "client1", "Reserve", args={"device_ids": '["ds1"]'}, sent=1),
    Reply(2, "r", result={"container_res": json.dumps({"mounts": [{"host_path": "/devices/ds1"}]})}),
]


def task(alloc: str, devices: list[str], state: str = "running", asked: int = 1) -> TaskView:
    return TaskView(alloc, "writer", "client1", state, "zfs_driver", devices, asked)


def users(t: int, *allocs: str) -> Observed:
    using = [
        Process(20, 5, "sh", alloc=alloc, task="writer", writes=["tank/devices/ds1"]) for alloc in allocs
    ]
    return Observed(t, "client1", since=t - 1, processes=using)


def test_two_tasks_that_use_one_instance_at_once() -> None:
    history = History([*RESERVED, users(10, ONE), users(20, ONE, OTHER), users(30, ONE, OTHER)])
    verdict = one_task_a_device(history)
    assert verdict.outcome is Outcome.INVALID
    assert "allocations 0b8e12ab and 1c9f23bc both used ds1 of client1" in verdict.why


def test_one_after_another_is_well() -> None:
    history = History([*RESERVED, users(10, ONE), users(20), users(30, OTHER), users(40, OTHER)])
    assert one_task_a_device(history).outcome is Outcome.VALID


def test_what_is_on_another_node_is_another_device() -> None:
    elsewhere = Observed(20, "client2", since=19, processes=users(20, OTHER).processes)
    history = History([*RESERVED, users(10, ONE), elsewhere, users(30, ONE)])
    assert one_task_a_device(history).outcome is Outcome.VALID


def test_a_task_that_was_placed_with_too_few() -> None:
    verdict = one_task_a_device(History([Census(10, [task(ONE, [], "dead")])]))
    assert "asks for 1 devices and was given none" in verdict.why


def test_one_instance_that_was_given_to_two() -> None:
    both = [task(ONE, [INSTANCE]), task(OTHER, [INSTANCE])]
    assert f"were both given {INSTANCE}" in one_task_a_device(History([Census(10, both)])).why
    alike = [task(ONE, [INSTANCE]), task(OTHER, ["zfs/dataset/other[ds1]"])]
    assert one_task_a_device(History([Census(10, alike)])).outcome is Outcome.VALID
    over = [task(ONE, [INSTANCE], "dead"), task(OTHER, [INSTANCE])]
    assert one_task_a_device(History([Census(10, over)])).outcome is Outcome.VALID


def test_a_job_is_given_what_it_names() -> None:
    def judged(given: str) -> Verdict:
        named = TaskView(
            ONE,
            "writer",
            "client1",
            "running",
            "zfs_driver",
            [f"zfs/dataset/tank[{given}]"],
            1,
            ["ds7", "ds8"],
        )
        return device_constraints(History([Census(10, [named])]))

    assert judged("ds8").outcome is Outcome.VALID
    assert "may have ds7, ds8 and was given zfs/dataset/tank[ds2]" in judged("ds2").why


def away(*views: tuple[float, bool], back: float = 40.0, end: float = 80.0) -> Verdict:
    """A pool that is taken away at 10 s; what the servers held of its device, when."""
    return device_news(
        History(
            [
                Fault(10 * SECOND, 0, "ExportPool", "injected", "client1"),
                Fault(int(back * SECOND), 0, "ExportPool", "healed"),
                *(DeviceView(int(at * SECOND), "client1", {"ds1": well}) for at, well in views),
                Phase(int(end * SECOND), "done"),
            ]
        )
    )


def test_servers_that_learn_in_time() -> None:
    assert away((1, True), (18, False), (49, True)).judged == 2
    assert away((1, True), (18, False), (49, True)).outcome is Outcome.VALID


def test_servers_that_never_learn() -> None:
    assert "gone or ill since 10.000 s, and the servers learnt of it never" in away((1, True)).why
    assert "are healthy since 40.000 s" in away((1, True), (18, False)).why


def test_servers_that_learn_late() -> None:
    verdict = away((1, True), (35, False), (49, True))
    assert "and the servers learnt of it after 25.000 s" in verdict.why


def test_what_was_too_short_to_tell_is_not_judged() -> None:
    short = 10 + WITHIN / SECOND - 1
    assert away((1, True), back=short, end=short + 1).outcome is Outcome.UNKNOWN


def test_nodes_call_their_instances_alike() -> None:
    elsewhere = [
        Call(3, "s", "zfs_device", "client2", "Reserve", args={"device_ids": '["ds1"]'}, sent=3),
        Reply(4, "s", result={"container_res": json.dumps({"mounts": [{"host_path": "/devices/ds1"}]})}),
    ]
    looks = [users(10, ONE), users(20, ONE, OTHER), users(30, ONE, OTHER)]
    assert one_task_a_device(History([*RESERVED, *elsewhere, *looks])).outcome is Outcome.INVALID


@pytest.mark.parametrize("name", ["ExportPool", "BreakPlugin"])
def test_what_takes_devices_away_is_to_be_learnt_of(name: str) -> None:
    away = Fault(10 * SECOND, 0, name, "injected", "client1")
    end = Phase(10 * SECOND + 2 * WITHIN, "done")
    well = DeviceView(0, "client1", {"ds1": True})
    gone = DeviceView(12 * SECOND, "client1", {})
    assert device_news(History([well, away, gone, end])).outcome is Outcome.VALID
    assert device_news(History([well, away, end])).outcome is Outcome.INVALID


def test_instances_are_named_where_each_that_is_asked_for_is() -> None:
    def asked(*named: str, operand: str = "set_contains") -> dict[str, Any]:
        constraint = {"LTarget": "${device.ids}", "RTarget": ",".join(named), "Operand": operand}
        return {"Name": "dataset", "Count": 1, "Constraints": [constraint] if named else []}

    def of(*devices: dict[str, Any]) -> tuple[int, list[str]]:
        return asked_of({"Resources": {"Devices": list(devices)}})

    assert of(asked("ds7", "ds8")) == (1, ["ds7", "ds8"])
    assert of(asked("ds7"), asked()) == (2, [])
    assert of(asked("ds7", operand="!=")) == (1, [])
