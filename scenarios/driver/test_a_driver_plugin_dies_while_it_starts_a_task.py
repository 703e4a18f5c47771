"""A driver's plugin that dies while it starts a task leaves nothing of that start: the agent asks once more.

The executor may be up already, and nobody knows of it: not the plugin that is started anew, nor the agent.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])
STARTS = rpc("StartTask").nth(1)
KILLED = faults.KillPlugin(target.serving())


def test_a_driver_plugin_dies_before_it_starts_a_task(cluster: Cluster) -> None:
    """It never has the call."""
    dies(cluster, nemesis.on(STARTS.before, KILLED))


def test_a_driver_plugin_dies_while_it_starts_a_task(cluster: Cluster) -> None:
    """It has the call, and dies with it."""
    dies(cluster, nemesis.on(STARTS.during, KILLED))


def test_a_driver_plugin_dies_once_it_has_started_a_task(cluster: Cluster) -> None:
    """The task runs, and the answer was the last that the plugin did."""
    dies(cluster, nemesis.on(STARTS.answered, KILLED))


def test_a_driver_plugin_dies_before_it_tells_of_a_start(cluster: Cluster) -> None:
    """The task runs, and the connection breaks before the agent hears of it."""
    dies(cluster, nemesis.on(STARTS.answered, KILLED) + nemesis.on(STARTS.answered, faults.CutConnection()))


def dies(cluster: Cluster, plan: Plan) -> None:
    """The task must run in the end, once."""
    kind = Kind(config={"dataset": {"use": "work"}}, place="/work")
    history = cluster.run(workloads.tasks(1, kind, goes_on=3, timeout=25), plan, settle=15)
    history.must_satisfy(
        guarantees.no_orphaned_executor,
        guarantees.one_plugin_process,
        guarantees.dataset_lives_as_long,
        guarantees.every_job_runs,
        guarantees.nothing_left_behind,
        guarantees.progress,
    )
