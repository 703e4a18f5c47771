"""A task driver exposes a dataset to the other tasks of its allocation, and is told when to destroy it."""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import dataset

LAB = Lab(servers=1, clients=1, plugins=[dataset.driver()])


def test_a_driver_exposes_a_dataset(cluster: Cluster) -> None:
    """From the fingerprint to nothing that is left."""
    (client,) = cluster.clients()
    history = cluster.run(workloads.use_dataset("driver", turns=2, timeout=25), settle=25)
    history.must_satisfy(guarantees.every_job_runs, guarantees.nothing_left_behind, guarantees.progress)
    left = client.run(["zfs", "list", "-H", "-o", "name", "-r", "tank/tasks"]).stdout.split()
    assert left == ["tank/tasks"]
