"""A driver's plugin that is killed is started again by its agent, and goes on with the tasks that it had."""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])
WRITES = Kind(config={"dataset": {"use": "work"}}, place="/work")
KILLED = faults.KillPlugin(target.node("client1"), plugin=driver.NAME)


def test_a_driver_plugin_is_killed(cluster: Cluster) -> None:
    """While its tasks run: they must be the same afterwards."""
    history = cluster.run(
        workloads.tasks(2, WRITES, goes_on=6, timeout=20), nemesis.at(3.0, KILLED), settle=15
    )
    history.must_satisfy(*guarantees.DRIVERS, guarantees.recovered_task_is_the_same)


def test_a_driver_plugin_is_killed_while_it_stops_a_task(cluster: Cluster) -> None:
    """The task must end, and once."""
    history = cluster.run(
        workloads.tasks(1, WRITES, goes_on=2, timeout=20),
        nemesis.on(rpc("StopTask", plugin=driver.NAME).nth(1).during, KILLED),
        settle=15,
    )
    history.must_satisfy(*guarantees.DRIVERS)
