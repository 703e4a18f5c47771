"""The driver of tasks with executors ends one whatever state it is in, and keeps its books."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from device_bench import NODE, SOON, DeviceBench, device_bench
from stormpool.goplugin.drive import DrivenDriver
from stormpool.goplugin.driver import Exit, Handle, Task
from stormpool.goplugin.on_node import OnNode
from stormpool.goplugin.process import PluginProcess
from stormpool.programs import fixture_environment
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

ALLOC = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
ALLOC_DIR = f"/nomad/alloc/{ALLOC}"
AT_ONCE = 3.0  # seconds
STATE = "/run/zfs_driver"
LASTING = "trap 'exit 7' TERM; while :; do sleep 0.1; done"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DeviceBench]:
    with device_bench(tmp_path) as made:
        made.node.run(["mkdir", "-p", *(f"{ALLOC_DIR}/{name}" for name in ("alloc", "t/local", "t/secrets"))])
        yield made


def driver_on(bench: DeviceBench) -> DrivenDriver:
    argv = [sys.executable, "-m", "zfs_driver"]
    started = OnNode(bench.nodes, NODE, argv, log=bench.logs / "driver.log", env=fixture_environment())
    driver = DrivenDriver(PluginProcess(started))
    driver.configure()
    return driver


def started(driver: DrivenDriver) -> Handle:
    task = Task(
        id=f"{ALLOC}/t/1",
        name="t",
        alloc_id=ALLOC,
        config=driver.task_config({"command": "/bin/busybox", "args": ["sh", "-c", LASTING]}),
        alloc_dir=ALLOC_DIR,
        stdout="/dev/null",
        stderr="/dev/null",
    )
    return driver.start(task)


def paused(bench: DeviceBench, handle: Handle) -> None:
    bench.node.run(["kill", "-STOP", str(json.loads(handle.state)["pid"])])


def test_a_task_whose_executor_is_paused_is_killed_in_its_time(bench: DeviceBench) -> None:
    driver = driver_on(bench)
    handle = started(driver)
    paused(bench, handle)
    began = time.monotonic()
    driver.stop(handle.task.id, timeout=0.5)
    assert time.monotonic() - began < AT_ONCE
    assert driver.wait(handle.task.id) == Exit(137, 9)
    driver.destroy(handle.task.id)
    assert bench.shell(f"ls {STATE}") == ""


def test_what_a_paused_executor_is_asked_for_has_an_end(bench: DeviceBench) -> None:
    driver = driver_on(bench)
    handle = started(driver)
    paused(bench, handle)
    for ask in (
        lambda: driver.signal(handle.task.id, "SIGUSR1"),
        lambda: driver.exec(handle.task.id, ["/bin/busybox", "true"], timeout=0.1),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            ask()
        assert refused.value.details() == "timed out"
    driver.destroy(handle.task.id, force=True)


def test_an_unknown_signal_ends_nothing(bench: DeviceBench) -> None:
    driver = driver_on(bench)
    handle = started(driver)
    with pytest.raises(grpc.RpcError, match="SIGNOSUCH"):
        driver.stop(handle.task.id, timeout=0.1, signal="SIGNOSUCH")
    with pytest.raises(grpc.RpcError, match="still runs"):
        driver.destroy(handle.task.id)
    driver.stop(handle.task.id, timeout=SOON)
    assert driver.wait(handle.task.id) == Exit(7)


def executor_on(bench: DeviceBench, *, heard: bool) -> str:
    """What the record says once an executor ran whose driver lives, or has ended; another's was there."""
    spec = {
        **{
            "argv": ["/bin/busybox", "true"],
            "env": {},
            "root": f"{ALLOC_DIR}/t/root",
            "work": "/",
            "user": "",
        },
        **{"stdout": "/dev/null", "stderr": "/dev/null", "status": "/run/status", "record": "/run/record"},
        **{"root_dataset": False, "binds": [], "fail_at": ""},
    }
    bench.node.write("/run/spec", json.dumps(spec))
    program = f"""
import os, socket, subprocess, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("/run/socket")
listener.listen()
reading, writing = os.pipe()
if not {heard}:
    os.close(reading)
passed = (listener.fileno(), writing)
words = "-m zfs_driver executor --directory /run --record /run/record --listen %d --report %d" % passed
subprocess.run([sys.executable, *words.split()], stdin=open("/run/spec"), pass_fds=passed)
os.close(writing)
while {heard} and os.read(reading, 100):
    pass
"""
    bench.shell(f"mkdir -p {ALLOC_DIR}/t/root; echo another >/run/record")
    env = [f"{name}={value}" for name, value in fixture_environment().items()]
    bench.node.run(["env", *env, sys.executable, "-c", program])
    wait_until(
        "it has ended", lambda: not bench.shell("pgrep -f '[e]xecutor --directory' || true"), timeout=SOON
    )
    return bench.node.read("/run/record").strip()


def test_an_executor_is_recorded_while_its_driver_lives(bench: DeviceBench) -> None:
    assert executor_on(bench, heard=True).isdigit()


def test_an_executor_whose_driver_has_ended_leaves_anothers_record_alone(bench: DeviceBench) -> None:
    assert executor_on(bench, heard=False) == "another"
