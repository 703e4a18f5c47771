"""Nothing is left of allocations that are no more: their agent has removed their directory, or none runs.

Nomad issues 15415 and 13301. Of mounts `test_mounts` tells, of executors `test_processes`.
"""

from stormpool.audit import remains
from stormpool.audit.node import Node


def test_no_process_is_left(node: Node) -> None:
    """No task, and nothing that collects its logs: Nomad issues 24219 and 11958."""
    mend = (
        "end it by its pid; where the agent is only being restarted, start it first: it takes its tasks back"
    )
    node.must_show_none(remains.processes, mend=mend)


def test_no_dataset_is_left(node: Node) -> None:
    """No dataset that is mounted in an allocation's directory, or says by `nomad:alloc` whose it is.

    Nomad issue 9473: a device plugin is never told that a reservation is over.
    """
    node.must_have_zfs()
    mend = "save what is needed of it, then `zfs destroy` it"
    node.must_show_none(lambda look: remains.of_datasets(look, node.datasets(look)), mend=mend)


def test_no_cgroup_is_left(node: Node) -> None:
    """No control group: cgroups(7); the agent removes them with the task."""
    node.must_show_none(remains.cgroups, mend="end the processes in its cgroup.procs, then rmdir it")


def test_no_network_namespace_is_left(node: Node) -> None:
    """No network namespace: ip-netns(8).

    The agent names them by allocations (nomad, client/allocrunner/network_manager_linux.go).
    """
    node.must_show_none(
        remains.namespaces, mend="`ip netns delete` it, once nothing is in it (`ip netns pids`)"
    )
