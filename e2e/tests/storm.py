"""A run as large as one likes, made up: for what must stay fast, and for names that mean no good."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from stored import about

from stormpool import reporter
from stormpool.events import SECOND, Call, Event, Fault, Leader, Phase, Reply
from stormpool.guarantees import lifecycle_order, serialized_controller_calls
from stormpool.history import History, encode
from stormpool.judge import judge
from stormpool.report.page import Judgement
from stormpool.store import RunDirectory

STEPS = (
    "ControllerPublishVolume",
    "NodeStageVolume",
    "NodePublishVolume",
    "NodeUnpublishVolume",
    "NodeUnstageVolume",
    "ControllerUnpublishVolume",
)
BEGAN = 1_800_000_000 * SECOND  # of the wall clock
APART = 2_000_000  # nanoseconds from call to call
LOG_LINES = 30_000


def storm(where: Path, events: int) -> RunDirectory:
    """A judged run of so many events, with its logs and its report."""
    run = RunDirectory.create(where, "storm")
    told = about(scenario="scenarios/csi/test_a_storm.py::test_a_storm")
    told.began_wall = BEGAN
    run.write_about(told)
    history = History(happened(events))
    run.history.write_bytes(b"".join(encode(event) for event in history.events))
    _log(run.logs / "client1.log", history.events[-1].t)
    judged = judge(run, history, [serialized_controller_calls, lifecycle_order])
    reporter.write(run, Judgement(told, history, judged.verdicts))
    return run


def happened(events: int) -> Iterator[Event]:
    """Calls in a volume's order, sixty volumes on three nodes; a fault; one in a thousand takes too long."""
    chance = random.Random(1)
    yield Phase(0, "workload")
    yield Leader(0, "server1", 2)
    for number in range(max(1, (events - 4) // 2)):
        turn, step = divmod(number, len(STEPS))
        t = SECOND + number * APART
        took = chance.randrange(APART // 10, APART - 1) + (number % 1000 == 500) * APART * 2
        call = Call(
            t=t,
            id=f"client{turn % 3 + 1}/zfs/{number}",
            plugin="zfs",
            node=f"client{turn % 3 + 1}",
            method=STEPS[step],
            volume=f"vol{turn % 60}",
            target=f"client{turn % 3 + 1}" if STEPS[step].startswith("Controller") else "",
            sent=t + 1000,
        )
        yield call
        code = "INTERNAL" if number % 97 == 0 else "OK"
        yield Reply(t + took, call.id, code, told=t + took + 1000)
        if number == 3:
            yield Fault(t, 0, "DelayCall", "injected", "client1", call.id, "during")
            yield Fault(t + took, 0, "DelayCall", "healed", "client1", call.id, "during")


def _log(path: Path, end: int) -> None:
    """What an agent could have logged while that went on, evenly."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(LOG_LINES):
            at = datetime.fromtimestamp((BEGAN + end * number // LOG_LINES) / 1e9, UTC)
            level = "WARN" if number % 50 == 0 else "DEBUG"
            stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            file.write(f"    {stamp} [{level}] client.alloc_runner: line: number={number} of a storm\n")
