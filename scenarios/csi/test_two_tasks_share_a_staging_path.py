"""Of two tasks of a node that share a volume one may go while the other comes (issue 20550).

The second task's NodePublishVolume waits until the first task's volume was taken down. Nomad 1.6.2 counts a
task as a user only once it is published, unstages the volume, and publishes from an empty path; 1.8.0
counts it first.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()])


def test_two_tasks_share_a_staging_path(cluster: Cluster) -> None:
    """The second must find the volume staged."""
    (volume,) = cluster.create_volumes(1, access=workloads.SHARED)
    second = rpc("NodePublishVolume").nth(2)
    history = cluster.run(
        workloads.hand_over(volume, "client1", timeout=20),
        nemesis.on(second.before, faults.WaitFor(rpc("NodeUnpublishVolume").answered))
        + nemesis.on(second.before, faults.DelayCall(1.0)),
        settle=20,
    )
    history.must_satisfy(guarantees.lifecycle_order, guarantees.nothing_left_behind)
