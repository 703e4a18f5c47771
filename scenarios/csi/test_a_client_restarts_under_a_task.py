"""A client that is killed and started again goes on with the task and the volume it had.

The node runs a consumer and a monolith plugin. The agent is killed once the task writes; the task lives on,
and must go on after. Nomad 1.3.1 claims the volume again before the node has its plugin back, kills the
live task and starts another (issue 17840); 1.6.0 and later wait for the plugin.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs()])


def test_a_client_restarts_under_a_task(cluster: Cluster) -> None:
    """The very task that ran before must run after, its writes kept."""
    volumes = cluster.create_volumes(1)
    cluster.run(
        workloads.hold(volumes, seconds=14, timeout=25),
        nemesis.at(3.0, faults.KillAgent(target.holder(volumes[0])), heal_after=1.0),
        settle=25,
    )
    history = cluster.run(workloads.read_back(volumes, timeout=25), settle=25)
    history.must_satisfy(
        guarantees.recovered_task_is_the_same,
        guarantees.lifecycle_order,
        guarantees.published_is_unpublished,
        guarantees.no_acknowledged_write_is_lost,
        guarantees.claims_match_reality,
        guarantees.nothing_left_behind,
    )
