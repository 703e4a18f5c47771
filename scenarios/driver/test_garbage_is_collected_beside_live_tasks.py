"""A client that collects its garbage forgets tasks that are over, and nothing of those that live."""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])
WRITES = Kind(config={"dataset": {"use": "work"}}, place="/work")
CLIENT = target.node("client1")


def test_garbage_is_collected_beside_live_tasks(cluster: Cluster) -> None:
    """Six tasks have ended, one of them badly, when client and servers collect; two go on."""
    over = Kind(seconds=0.3, lasting=False, name="over", config={"dataset": {"use": "work"}})
    failed = Kind(seconds=0.3, code=9, lasting=False, name="failed")
    garbage = nemesis.at(5.0, faults.CollectClientGarbage(CLIENT)) + nemesis.at(5.5, faults.CollectGarbage())
    history = cluster.run(
        workloads.tasks(5, over, timeout=15),
        workloads.tasks(1, failed, timeout=15),
        workloads.tasks(2, WRITES, goes_on=8, timeout=15),
        garbage,
        settle=15,
    )
    history.must_satisfy(*guarantees.DRIVERS, guarantees.recovered_task_is_the_same)
