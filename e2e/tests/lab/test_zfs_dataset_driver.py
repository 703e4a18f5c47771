"""The driver whose tasks are datasets exposes real ones, finds them again, and can be broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from device_bench import SOON, DeviceBench, device_bench
from stormpool.goplugin.drive import DrivenDriver
from stormpool.goplugin.driver import Exit, Health, Isolation, State, Task
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

ALLOC = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
ALLOC_DIR = f"/nomad/alloc/{ALLOC}"
SHARED = f"{ALLOC_DIR}/alloc"
TASKS = "tank/tasks"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DeviceBench]:
    with device_bench(tmp_path) as made:
        made.node.run(["mkdir", "-p", SHARED])
        yield made


def task(driver: DrivenDriver, id: str = "1", **config: Any) -> Task:
    return Task(
        id=f"{ALLOC}/data/{id}",
        name="data",
        alloc_id=ALLOC,
        config=driver.task_config(config),
        alloc_dir=ALLOC_DIR,
        stdout="/dev/null",
        stderr="/dev/null",
    )


def mounted(bench: DeviceBench) -> list[str]:
    """Where datasets of tasks are mounted."""
    return bench.shell(f"grep {TASKS}/ /proc/self/mountinfo | cut -d' ' -f5 || true").split()


def read(bench: DeviceBench) -> str:
    return bench.shell(f"cat {SHARED}/dataset/file 2>/dev/null || true").strip()


def test_it_says_what_it_is(bench: DeviceBench) -> None:
    driver = bench.driver()
    assert (driver.info().name, driver.info().kind) == ("zfs_dataset", "DRIVER")
    assert driver.capabilities().isolation is Isolation.NONE
    told = driver.fingerprint()
    assert told.first(SOON).health is Health.HEALTHY
    bench.export()
    told.until("it is ill", lambda said: said.health is Health.UNHEALTHY, SOON)
    bench.import_again()
    wait_until("it is well", lambda: told.said[-1].health is Health.HEALTHY, timeout=SOON)
    assert len(told.said) == 3


def test_a_task_is_a_dataset_until_it_is_stopped(bench: DeviceBench) -> None:
    driver = bench.driver()
    one = task(driver, quota="16M")
    driver.start(one)
    assert bench.datasets(TASKS) == [f"{ALLOC}-data"]
    assert mounted(bench) == [f"{SHARED}/dataset"]
    assert driver.inspect(one.id).state is State.RUNNING
    with pytest.raises(grpc.RpcError, match="still runs"):
        driver.destroy(one.id)
    driver.stop(one.id)
    assert driver.wait(one.id) == Exit()
    driver.destroy(one.id)
    assert (bench.datasets(TASKS), mounted(bench)) == ([], [])


def test_it_is_where_a_job_says(bench: DeviceBench) -> None:
    driver = bench.driver()
    one = task(driver, path="state/db", tasks=["writer"])
    driver.start(one)
    assert mounted(bench) == [f"{SHARED}/state/db", f"{ALLOC_DIR}/writer/local/state/db"]
    driver.stop(one.id)
    assert mounted(bench) == []


@pytest.mark.parametrize(
    "config", [{"path": "../../x"}, {"path": ""}, {"path": "link/x"}, {"tasks": ["../x"]}, {"path": "."}]
)
def test_it_is_nowhere_else(bench: DeviceBench, config: dict[str, Any]) -> None:
    bench.node.run(["ln", "-s", "/srv", f"{SHARED}/link"])
    driver = bench.driver()
    with pytest.raises(grpc.RpcError, match=r"is to be in|no names of tasks") as refused:
        driver.start(task(driver, **config))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert (bench.datasets(TASKS), mounted(bench)) == ([], [])


def test_a_task_that_a_sibling_uses_is_not_stopped(bench: DeviceBench) -> None:
    driver = bench.driver()
    one = task(driver)
    driver.start(one)
    bench.shell(f"echo mine >{SHARED}/dataset/file")
    with bench.using(f"{SHARED}/dataset"), pytest.raises(grpc.RpcError, match="busy"):
        driver.stop(one.id, timeout=0.5)
    assert read(bench) == "mine"
    driver.stop(one.id)
    assert bench.datasets(TASKS) == []


def test_a_task_is_found_again(bench: DeviceBench) -> None:
    driver = bench.driver()
    one = task(driver)
    handle = driver.start(one)
    bench.shell(f"echo mine >{SHARED}/dataset/file")
    driver.plugin.kill()
    driver = bench.driver()
    driver.recover(handle)
    assert read(bench) == "mine"
    assert driver.inspect(one.id).state is State.RUNNING
    driver.stop(one.id)
    assert driver.wait(one.id) == Exit()
    driver.destroy(one.id)
    with pytest.raises(grpc.RpcError, match="not found"):
        driver.recover(handle)


def test_a_task_that_was_not_found_again_is_destroyed_all_the_same(bench: DeviceBench) -> None:
    driver = bench.driver()
    one = task(driver)
    driver.start(one)
    driver.plugin.kill()
    bench.driver().destroy(one.id, force=True)
    assert bench.datasets(TASKS) == []


def test_a_plugin_that_ends_in_order_leaves_its_tasks(bench: DeviceBench) -> None:
    driver = bench.driver()
    driver.start(task(driver))
    assert driver.plugin.shut_down() == 0
    assert mounted(bench) == [f"{SHARED}/dataset"]


# The faults that it can be built with, each seen to differ.


def test_one_that_leaks_leaves_its_dataset(bench: DeviceBench) -> None:
    driver = bench.driver("leaky_stop")
    one = task(driver)
    driver.start(one)
    driver.stop(one.id)
    driver.destroy(one.id)
    assert (bench.datasets(TASKS), mounted(bench)) == ([f"{ALLOC}-data"], [])


def test_one_that_destroys_on_exit_takes_what_tasks_have(bench: DeviceBench) -> None:
    driver = bench.driver("destroys_on_exit")
    driver.start(task(driver))
    assert driver.plugin.shut_down() == 0
    assert bench.datasets(TASKS) == []


def test_one_that_recovers_anew_loses_what_was_written(bench: DeviceBench) -> None:
    driver = bench.driver()
    handle = driver.start(task(driver))
    bench.shell(f"echo mine >{SHARED}/dataset/file")
    driver.plugin.kill()
    driver = bench.driver("recovers_anew")
    driver.recover(handle)
    assert (read(bench), mounted(bench)) == ("", [f"{SHARED}/dataset"])


def test_one_that_forgets_finds_no_task_again(bench: DeviceBench) -> None:
    driver = bench.driver()
    handle = driver.start(task(driver))
    driver.plugin.kill()
    driver = bench.driver("forgets_tasks")
    with pytest.raises(grpc.RpcError, match="not found"):
        driver.recover(handle)
    driver.destroy(handle.task.id, force=True)
    assert bench.datasets(TASKS) == [f"{ALLOC}-data"]
