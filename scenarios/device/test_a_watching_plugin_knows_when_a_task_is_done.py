"""A device plugin that watches the agent's API destroys the dataset of a task once the task is over.

Each task gets a dataset of its own, named after no instance but after the reservation.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import dataset
from stormpool.wait import wait_until

LAB = Lab(servers=1, clients=1, plugins=[dataset.device(design="watching", instances=2)])
COLLECTED_WITHIN = 15.0  # seconds; under 2 as seen


def test_a_watching_plugin_knows_when_a_task_is_done(cluster: Cluster) -> None:
    """From the fingerprint to nothing that is left."""
    (client,) = cluster.clients()
    history = cluster.run(workloads.use_dataset("device", turns=3, timeout=25), settle=25)
    history.must_satisfy(guarantees.every_job_runs, guarantees.nothing_left_behind, guarantees.progress)
    wait_until(
        "no dataset is left",
        lambda: client.run(["zfs", "list", "-H", "-o", "name", "-r", "tank/devices"]).stdout,
        lambda left: left == "tank/devices\n",
        timeout=COLLECTED_WITHIN,
    )
