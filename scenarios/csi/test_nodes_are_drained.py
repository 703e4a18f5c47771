"""Tasks of nodes that are drained move, with their volumes and all they had written, wherever they can.

First the node that has a consumer and a controller, plugins drained along; then two of three nodes at once,
which keep theirs.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=3, plugins=[csi.zfs()])
JUDGED = (
    guarantees.lifecycle_order,
    guarantees.published_is_unpublished,
    guarantees.one_writer_a_volume,
    guarantees.no_acknowledged_write_is_lost,
    guarantees.claims_match_reality,
    guarantees.every_job_runs,
    guarantees.progress,
    guarantees.nothing_left_behind,
)


def test_a_node_is_drained(cluster: Cluster) -> None:
    """The node that holds the volume is drained, its plugin last, and eligible again at the end."""
    volumes = cluster.create_volumes(1)
    cluster.run(
        workloads.hold(volumes, seconds=12, timeout=30),
        nemesis.at(3.0, faults.DrainNode(target.holder(volumes[0]))),
        settle=30,
    )
    cluster.run(workloads.read_back(volumes, timeout=25), settle=25).must_satisfy(*JUDGED)


def test_two_nodes_are_drained(cluster: Cluster) -> None:
    """Two of three nodes are drained a moment apart, with three volumes in use."""
    volumes = cluster.create_volumes(3)
    cluster.run(
        workloads.hold(volumes, seconds=16, timeout=30),
        nemesis.at(3.0, faults.DrainNode(target.node("client1"), ignore_system_jobs=True))
        + nemesis.at(3.5, faults.DrainNode(target.node("client2"), ignore_system_jobs=True)),
        settle=30,
    )
    cluster.run(workloads.read_back(volumes, timeout=25), settle=25).must_satisfy(*JUDGED)
