"""A device plugin is served and driven over go-plugin's protocol, with and without a tap between."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf import empty_pb2

from stormpool import processes, stubs
from stormpool.errors import MachineError, Misuse
from stormpool.events import Call, Message, Reply
from stormpool.goplugin.attributes import Quantity, attribute_of, attribute_to
from stormpool.goplugin.device import Instance, Mount, Reservation
from stormpool.goplugin.drive import DrivenDevice
from stormpool.goplugin.handshake import COOKIE
from stormpool.goplugin.process import LocalProcess, PluginProcess
from stormpool.goplugin.protos import stdio_rpc
from stormpool.history import History
from stormpool.shell import run
from stormpool.store import Recorder, RunDirectory
from stormpool.tap.collector import Collector
from stormpool.tap.messages import Protocol
from stormpool.wait import wait_until

PLUGIN = [sys.executable, str(Path(__file__).with_name("sample_device.py"))]
SOON = 5.0  # seconds


@pytest.fixture
def device() -> Iterator[DrivenDevice]:
    with LocalProcess(PLUGIN) as started:
        yield DrivenDevice(PluginProcess(started))


@pytest.mark.parametrize("unit", ["MiB", "kB", "GB/s", "MHz", "mW", "W"])
def test_a_unit_that_agents_know(unit: str) -> None:
    assert attribute_of(attribute_to(Quantity(3, unit))) == Quantity(3, unit)


@pytest.mark.parametrize("unit", ["B", "Hz", "kHz", "mib", "MiB/h", ""])
def test_a_unit_that_agents_do_not_know(unit: str) -> None:
    """They drop all devices of the plugin for it, and tell only their log."""
    with pytest.raises(ValueError, match=f"agents know no unit '{unit}'"):
        attribute_to(Quantity(3, unit))


def test_it_says_what_it_is(device: DrivenDevice) -> None:
    info = device.info()
    assert (info.name, info.kind, info.version, info.apis) == ("disks", "DEVICE", "1.2.3", ("v0.1.0",))
    assert device.plugin.serving()
    assert device.plugin.handshake.network == "unix"


def test_it_takes_its_configuration(device: DrivenDevice) -> None:
    spec = device.config_spec()
    assert {name: each.Attr.type for name, each in spec.object.attributes.items()} == {
        "count": "number",
        "names": "list(string)",
        "fail": "bool",
    }
    device.configure({"names": ["a", "b"]})
    (group,) = device.fingerprint().first(SOON)
    assert group.instances == (Instance("a", True, "as seen"), Instance("b", True, "as seen"))
    assert group.attributes == {"size": Quantity(64, "MiB"), "fast": True, "layout": "mirror"}
    with pytest.raises(Misuse, match="knows no colour"):
        device.configure({"colour": "red"})
    with pytest.raises(grpc.RpcError, match="a negative number of disks"):
        device.configure({"count": -1})


def test_what_changes_is_told(device: DrivenDevice) -> None:
    device.configure()
    told = device.fingerprint()
    told.first(SOON)
    made = device.reserve("disk1")
    assert made == Reservation({"DISKS": "disk1"}, (Mount("/disks/disk1", "/srv/disk1"),))
    unhealthy = Instance("disk1", False, "as seen")
    told.until("disk1 is unhealthy", lambda groups: unhealthy in groups[0].instances, SOON)
    told.stop()
    assert told.over


def test_what_it_raises_is_heard(device: DrivenDevice) -> None:
    device.configure({"fail": True})
    with pytest.raises(grpc.RpcError) as refused:
        device.reserve("none")
    assert (refused.value.code(), refused.value.details()) == (
        grpc.StatusCode.UNKNOWN,
        "no disk is named none",
    )
    told = device.fingerprint()
    assert told.ended(SOON)
    assert "cannot be seen any more" in str(told.error)


def test_it_counts(device: DrivenDevice) -> None:
    device.configure()
    told = device.stats(0.05)
    expected = {("acme", "disk", "small"): {"disk0": {"used": Quantity(3, "MiB"), "state": "idle"}}}
    assert told.first(SOON) == expected
    wait_until("it counts on", lambda: len(told.said) > 2, timeout=SOON)
    told.stop()


def test_what_it_prints_goes_to_the_agent(device: DrivenDevice) -> None:
    stream = stdio_rpc.GRPCStdioStub(device.plugin.channel).StreamStdio(empty_pb2.Empty(), timeout=SOON)
    device.reserve("disk0")
    assert next(stream).data == b"reserved disk0"
    assert "disks: serving" in device.plugin.said
    assert "reserved" not in device.plugin.said


def test_it_ends_when_told_to(device: DrivenDevice) -> None:
    device.fingerprint()
    assert device.plugin.shut_down() == 0


def test_it_does_nothing_by_hand() -> None:
    done = run(PLUGIN, env={COOKIE: "other"}, check=False)
    assert done.code == 1
    assert "does nothing by hand" in done.stderr


def test_one_that_ends_at_once_is_told_of() -> None:
    argv = ["sh", "-c", "echo no such pool >&2; exit 3"]
    with LocalProcess(argv) as started, pytest.raises(MachineError, match="no such pool"):
        PluginProcess(started)


class Tapped:
    """A plugin with a tap before it."""

    def __init__(self, tmp_path: Path) -> None:
        self.run = RunDirectory.create(tmp_path, "run")
        self.recorder = Recorder(self.run.history)
        self.collector = Collector(
            str(tmp_path / "tap.sock"), Protocol(stubs.services("nomad", "goplugin")), self.recorder
        )
        hello = json.dumps({"plugin": "disks", "node": "here"})
        shim = [sys.executable, "-m", "stormpool.tap.shim", "--report", str(tmp_path / "tap.sock")]
        self.argv = [*shim, "--hello", hello, "--", *PLUGIN]

    def history(self) -> History:
        self.collector.hear_out()
        return self.run.read_history()


@pytest.fixture
def tapped(tmp_path: Path) -> Iterator[Tapped]:
    made = Tapped(tmp_path)
    yield made
    made.collector.close()
    made.recorder.close()


def test_a_tap_before_it_tells_of_every_call_and_message(tapped: Tapped) -> None:
    with LocalProcess(tapped.argv) as started:
        device = DrivenDevice(PluginProcess(started))
        device.configure({"count": 3})
        told = device.fingerprint()
        told.first(SOON)
        device.reserve("disk2")
        wait_until("it is told", lambda: len(told.said) == 2, timeout=SOON)
        assert device.plugin.shut_down() == 0
    history = tapped.history()
    calls = {call.method: call for call in history.of(Call)}
    assert list(calls) == ["ConfigSchema", "SetConfig", "Fingerprint", "Reserve", "Shutdown"]
    assert calls["Reserve"].args == {"device_ids": '["disk2"]'}
    found = [each for each in history.of(Message) if each.id == calls["Fingerprint"].id]
    assert ["disk2" in each.said["device_group"] for each in found] == [True, True]
    (reserved,) = (reply for reply in history.of(Reply) if reply.id == calls["Reserve"].id)
    assert "/srv/disk2" in reserved.result["container_res"]
    assert "DISKS" not in reserved.result["container_res"]


def test_a_call_is_held_in_the_tap(tapped: Tapped) -> None:
    with LocalProcess(tapped.argv) as started:
        device = DrivenDevice(PluginProcess(started))
        device.configure()
        tapped.collector.hold(["Reserve"], lambda held: held.refuse(14, "out of order"))
        wait_until("the tap holds calls", lambda: refused(device) == "out of order", timeout=SOON)
        device.plugin.kill()


def refused(device: DrivenDevice) -> str:
    try:
        device.reserve("disk0")
    except grpc.RpcError as error:
        return str(error.details())
    return ""


def test_the_plugin_goes_with_its_tap_and_the_tap_with_its_plugin(tapped: Tapped) -> None:
    with LocalProcess(tapped.argv) as started:
        first = PluginProcess(started)
        (plugin,) = processes.children(first.process.pid)
        first.kill()
        wait_until("the plugin is gone", lambda: processes.started(plugin) is None, timeout=SOON)
    with LocalProcess(tapped.argv) as started:
        second = PluginProcess(started)
        (plugin,) = processes.children(second.process.pid)
        processes.signal(plugin, signal.SIGKILL)
        assert second.process.wait(SOON) == -signal.SIGKILL
