"""A driver's plugin that dies while it starts a task leaves nothing of that start: the agent asks once more.

The executor may be up already, and nobody knows of it: not the plugin that is started anew, nor the agent.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import OnCall, rpc
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])


def test_a_driver_plugin_dies_before_it_starts_a_task(cluster: Cluster) -> None:
    """It never has the call."""
    dies_at(cluster, rpc("StartTask").nth(1).before)


def test_a_driver_plugin_dies_while_it_starts_a_task(cluster: Cluster) -> None:
    """It has the call, and dies with it."""
    dies_at(cluster, rpc("StartTask").nth(1).during)


def test_a_driver_plugin_dies_once_it_has_started_a_task(cluster: Cluster) -> None:
    """The task runs, and its answer is lost."""
    dies_at(cluster, rpc("StartTask").nth(1).answered)


def dies_at(cluster: Cluster, point: OnCall) -> None:
    """The task must run in the end, once."""
    history = cluster.run(
        workloads.tasks(1, Kind(), goes_on=3, timeout=25),
        nemesis.on(point, faults.KillPlugin(target.serving())),
        settle=15,
    )
    history.must_satisfy(
        guarantees.no_orphaned_executor,
        guarantees.one_plugin_process,
        guarantees.every_job_runs,
        guarantees.nothing_left_behind,
    )
