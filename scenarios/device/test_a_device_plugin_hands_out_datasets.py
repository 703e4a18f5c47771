"""A device plugin hands a dataset to each task, and is never told when the task is done with it.

Three tasks, one after another, more than there are instances: each finds its dataset mounted and empty,
though one before it wrote to the same instance. What the last ones left stays: by this design nobody knows.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import dataset

LAB = Lab(servers=1, clients=1, plugins=[dataset.device(instances=2)])


def test_a_device_plugin_hands_out_datasets(cluster: Cluster) -> None:
    """From the fingerprint to what is left."""
    (client,) = cluster.clients()
    history = cluster.run(workloads.use_dataset("device", turns=3, timeout=25), settle=25)
    history.must_satisfy(guarantees.every_job_runs, guarantees.nothing_left_behind, guarantees.progress)
    left = client.run(["zfs", "list", "-H", "-o", "name", "-r", "tank/devices"]).stdout.split()
    assert left[1:], "nothing of the last holder is left, which this plugin cannot know to be over"
