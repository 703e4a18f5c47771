"""However many tasks a client has, it runs one process of their driver (seed 004, its first question)."""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=2, plugins=[driver.zfs()])


def test_one_plugin_process_a_client(cluster: Cluster) -> None:
    """Eight tasks on two clients; an executor and a dataset each."""
    writes = Kind(config={"dataset": {"use": "work"}}, place="/work")
    history = cluster.run(workloads.tasks(8, writes, goes_on=2, timeout=20), settle=15)
    history.must_satisfy(*guarantees.DRIVERS)
