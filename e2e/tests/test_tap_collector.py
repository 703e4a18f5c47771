"""What a tap tells is written down, or the run is told that it could not be; the plugin's calls go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from stormpool.errors import MachineError
from stormpool.events import Call, Event, Message
from stormpool.goplugin.protos import driver, driver_rpc
from stormpool.store import Recorder, RunDirectory
from stormpool.tap.collector import Collector, HeldCall
from stormpool.tap.messages import UNPARSED, Protocol
from stormpool.tap.proxy import Tap
from stormpool.tap.report import Report
from stormpool.wait import wait_until

PATIENCE = 10.0  # seconds until a test gives up
STATS = "/hashicorp.nomad.plugins.drivers.proto.Driver/TaskStats"


class Driver(driver_rpc.DriverServicer):  # type: ignore[misc,name-defined]
    """Answers two methods; its times are in milliseconds."""

    def SignalTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        return driver.SignalTaskResponse()

    def TaskStats(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        for _ in range(2):
            said = driver.TaskStatsResponse()
            said.stats.timestamp.seconds = 1_700_000_000_000
            yield said


class Ill(Recorder):
    """A history that is slow to be written, or cannot be once there is no room."""

    full = False
    takes = 0.0  # seconds that each event takes to be written

    def write(self, event: Event) -> None:
        time.sleep(self.takes)
        if self.full:
            raise OSError(28, "No space left on device")
        super().write(event)


class Tapped:
    """A driver, a tap before it, and who hears what that tells."""

    def __init__(self, directory: Path) -> None:
        self.run = RunDirectory.create(directory, "run")
        self.recorder = Ill(self.run.history)
        self.collector = Collector(str(directory / "report"), Protocol([driver.DESCRIPTOR]), self.recorder)
        self._server = grpc.server(ThreadPoolExecutor(8))
        driver_rpc.add_DriverServicer_to_server(Driver(), self._server)
        self._server.add_insecure_port(f"unix:{directory}/plugin")
        self._server.start()
        self._report = Report(str(directory / "report"), '{"plugin":"x","node":"n"}')
        self._tap = Tap(str(directory / "tap"), str(directory / "plugin"), self._report)
        self._serving = threading.Thread(target=self._tap.serve)
        self._serving.start()
        self._channel = grpc.insecure_channel(f"unix:{directory}/tap")
        self.stub = driver_rpc.DriverStub(self._channel)

    def signal(self, text: str = "") -> None:
        """Make a call that is answered."""
        self.stub.SignalTask(driver.SignalTaskRequest(task_id="a", signal=text), timeout=PATIENCE)

    def close(self) -> None:
        self._channel.close()
        self.collector.close()
        self._serving.join(PATIENCE)
        self._report.socket.close()
        self._server.stop(0).wait()
        self.recorder.close()


@pytest.fixture
def tapped(tmp_path: Path) -> Iterator[Tapped]:
    made = Tapped(tmp_path)
    yield made
    made.close()


def test_a_message_that_cannot_be_shown_is_told_as_such(tapped: Tapped) -> None:
    said = list(tapped.stub.TaskStats(driver.TaskStatsRequest(task_id="a"), timeout=PATIENCE))
    assert len(said) == 2
    tapped.signal()
    tapped.collector.hear_out()
    told = tapped.run.read_history().of(Message)
    assert ["timestamp" in each.said[UNPARSED] for each in told] == [True, True]


def test_a_history_that_cannot_be_written_ends_the_run_and_not_the_plugins_calls(tapped: Tapped) -> None:
    tapped.signal()
    tapped.collector.hear_out()
    tapped.recorder.full = True
    tapped.signal()
    with pytest.raises(MachineError, match="No space left"):
        tapped.collector.hear_out()
    for _ in range(200):  # more than fits into a socket that nobody reads
        tapped.signal("x" * 60_000)
    with pytest.raises(MachineError, match="No space left"):
        tapped.collector.hear_out()


def test_a_tap_that_is_never_still_is_heard_out(tapped: Tapped) -> None:
    over = threading.Event()

    def call_on() -> None:
        while not over.wait(0.01):
            tapped.signal()

    tapped.recorder.takes = 0.004  # of a call and its reply: while some are written down, others are told
    with ThreadPoolExecutor(1) as threads:
        calling = threads.submit(call_on)
        try:
            tapped.signal("before")
            tapped.collector.hear_out()
            assert not calling.done()
        finally:
            over.set()
    told = tapped.run.read_history().of(Call)
    assert [each for each in told if each.args.get("signal") == "before"]


def test_calls_that_are_held_go_on_once_nobody_hears_of_them(tapped: Tapped) -> None:
    held: list[HeldCall] = []

    def once(call: HeldCall) -> None:
        held.append(call)
        if len(held) == 2:
            raise LookupError("a fault of its own")

    tapped.collector.hold(["SignalTask"], once)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(tapped.signal)
        wait_until("a call is held", lambda: held, timeout=PATIENCE)
        second = threads.submit(tapped.signal)
        first.result(PATIENCE)
        second.result(PATIENCE)
    with pytest.raises(MachineError, match="a fault of its own"):
        tapped.collector.hear_out()
    tapped.signal()


def test_one_that_says_nothing_is_no_tap(tapped: Tapped, tmp_path: Path) -> None:
    Report(str(tmp_path / "report"), '{"plugin":"y","node":"n"}').socket.close()
    tapped.signal()
    tapped.collector.hear_out()
