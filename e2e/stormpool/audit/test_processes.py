"""Processes of agents and plugins have work to do, and do it."""

import pytest

from stormpool.audit import processes
from stormpool.audit.node import Node


def test_every_executor_has_its_task(node: Node) -> None:
    """No executor is left of a task that has ended, or of an allocation that is no more.

    Nomad issues 24219, 24495 and 11958.
    """
    mend = "kill it by its pid: the agent has no use for it any more"
    node.must_show_none(processes.orphaned_executors, mend=mend)


def test_every_plugin_runs_once(node: Node) -> None:
    """A node runs one process of each driver and device plugin, and one task of each CSI plugin.

    Nomad, plugins of drivers and devices are singletons of a client.
    """
    if not any(each.is_agent for each in node.now.processes.values()):
        pytest.skip(f"{node} runs no Nomad agent")
    mend = "kill the one that no agent is connected to, by its pid; of a CSI plugin stop one of the jobs"
    node.must_show_none(processes.doubled_plugins, mend=mend)


def test_nobody_leaves_zombies(node: Node) -> None:
    """Agents, plugins and executors wait for their children: wait(2), *Notes*."""
    node.must_show_none(
        processes.zombies, mend="restart who does not reap it; as its init does, it goes with it"
    )


def test_nobody_is_stuck(node: Node) -> None:
    """No process is in uninterruptible sleep all the time between two looks: proc_pid_stat(5), state D.

    It cannot be killed; most often it waits for a pool, a disk or a network file system that does not answer.
    """
    mend = "see /proc/PID/stack for what it waits for, and `zpool status` for a pool that is suspended"
    node.must_show_none(processes.stuck, mend=mend)
