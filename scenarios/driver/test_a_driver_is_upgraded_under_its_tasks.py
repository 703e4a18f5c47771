"""Another build of a driver takes the place of the one that runs, over the tasks that this had started."""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])
WRITES = Kind(config={"dataset": {"use": "work"}}, place="/work")
NEWER = faults.UpgradePlugin(driver.NAME, target.node("client1"), (("ZFS_DRIVER_VERSION", "0.2.0"),))


def test_a_driver_is_upgraded_under_its_tasks(cluster: Cluster) -> None:
    """And later back again: the tasks are the same, and end as they end."""
    history = cluster.run(
        workloads.tasks(2, WRITES, goes_on=8, timeout=20), nemesis.at(1.5, NEWER, heal_after=3.0), settle=15
    )
    history.must_satisfy(*guarantees.DRIVERS, guarantees.recovered_task_is_the_same)
