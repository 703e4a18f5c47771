"""An executor that is killed takes its task with it, and the agent is told how that ended."""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])


def test_an_executor_is_killed(cluster: Cluster) -> None:
    """The task is started anew, and never runs twice."""
    history = cluster.run(
        workloads.tasks(1, Kind(), goes_on=6, timeout=20),
        nemesis.at(2.0, faults.KillExecutor(job="task1")),
        settle=15,
    )
    history.must_satisfy(
        guarantees.no_orphaned_executor,
        guarantees.one_plugin_process,
        guarantees.exit_status,
        guarantees.nothing_left_behind,
        guarantees.progress,
    )
