"""A node's pool is taken away and given back: the servers must learn of both, and place accordingly."""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import dataset, driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs(), dataset.device(design="watching")])
AWAY = 17.0  # seconds: longer than the servers may take to learn of it
DATASET = {"Name": "zfs/dataset/tank", "Count": 1}


def test_a_device_is_lost_and_comes_back(cluster: Cluster) -> None:
    """Nobody uses it meanwhile; a task that asks for one afterwards gets it."""
    lost = nemesis.at(0.5, faults.ExportPool(target.node("client1")), heal_after=AWAY)
    waits = Kind(driver="raw_exec", name="waits")
    cluster.run(workloads.tasks(1, waits, goes_on=2 * AWAY, timeout=20), lost, settle=10)
    kind = Kind(devices=(DATASET,), place="/dataset", name="after")
    history = cluster.run(workloads.tasks(1, kind, goes_on=1, timeout=20), settle=15)
    history.must_satisfy(guarantees.device_news, guarantees.one_task_a_device, guarantees.every_job_runs)
