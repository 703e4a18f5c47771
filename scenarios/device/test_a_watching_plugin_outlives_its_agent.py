"""The agent is killed while a task uses its dataset: that is destroyed with the task, by another plugin.

The agent that is started anew ends the plugin of the earlier one, and starts another. What that one must
know it reads from ZFS: whose datasets there are. Where the servers hold the node for lost meanwhile, the task
that comes in the first one's place has a dataset of its own, beside that one's (seen with Nomad 1.3.1).
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import dataset
from stormpool.wait import wait_until

LAB = Lab(servers=1, clients=1, plugins=[dataset.device(design="watching", instances=2)])
COLLECTED_WITHIN = 15.0  # seconds; under 2 as seen


def test_a_watching_plugin_outlives_its_agent(cluster: Cluster) -> None:
    """The task must run at the end, and nothing be left then."""
    (client,) = cluster.clients()
    history = cluster.run(
        workloads.use_dataset("device", seconds=8, timeout=25),
        nemesis.at(2.0, faults.KillAgent(target.node("client1")), heal_after=1.0),
        settle=25,
    )
    history.must_satisfy(guarantees.every_job_runs, guarantees.nothing_left_behind, guarantees.progress)
    wait_until(
        "no dataset is left",
        lambda: client.run(["zfs", "list", "-H", "-o", "name", "-r", "tank/devices"]).stdout,
        lambda left: left == "tank/devices\n",
        timeout=COLLECTED_WITHIN,
    )
