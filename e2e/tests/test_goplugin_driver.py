"""What drivers are told and say, as messages of their agents."""

import pytest

from stormpool.goplugin import topology
from stormpool.goplugin.driver import (
    Health,
    Isolation,
    State,
    Task,
    health_of,
    isolation_of,
    named,
    state_of,
    status_of,
    task_of,
    task_to,
)
from stormpool.goplugin.protos import base, driver

# What Nomad 1.10.5 sends of two processors: its own message, marshalled by its own code.
TWO = "1a160a01001205080112010a1a0340e8071a05180140e807"
SHARE = "/sys/fs/cgroup/cpuset/nomad/share"


def test_a_driver_is_told_of_processors_as_agents_do() -> None:
    config = base.NomadDriverConfig()
    topology.add_to(config, 2)
    assert config.SerializeToString().hex() == TWO


def test_a_task_has_the_cgroup_that_was_made_for_it() -> None:
    task = Task(id="a/t/1", name="t", alloc_id="a", alloc_dir="/a", stdout="o", stderr="e", cgroup=SHARE)
    assert task_to(task).resources.linux_resources.cpuset_cgroup == SHARE
    assert task_of(task_to(task)) == task


def test_numbers_that_are_known() -> None:
    kinds = driver.DriverCapabilities
    assert isolation_of(kinds.CHROOT) is Isolation.CHROOT
    assert health_of(driver.FingerprintResponse.HEALTHY) is Health.HEALTHY
    assert state_of(driver.EXITED) is State.EXITED


@pytest.mark.parametrize("number", [3, 77])
def test_an_isolation_that_is_not_known_is_none(number: int) -> None:
    assert isolation_of(number) is Isolation.NONE


def test_numbers_that_are_not_known_are_named() -> None:
    assert (health_of(9), state_of(9), named(base.PluginType, 9)) == ("number 9",) * 3
    told = driver.InspectTaskResponse()
    told.task.state = 9
    assert status_of(told).state == "number 9"
