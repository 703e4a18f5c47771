"""Volumes that are block devices go through their life as file systems do, and keep what was written to them.

Each is a zvol in the pool of one node, with all its room reserved (zfsprops(7), refreservation). Its task is
handed the device itself and writes records to it, each made durable before it is told.
"""

from stormpool import guarantees, workloads
from stormpool.capability import Capability
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(
    servers=1,
    clients=2,
    plugins=[csi.zfs(kind="zvol")],
    pool_mib=512,  # OpenZFS keeps up to half of a small pool for itself (zfs(4), spa_slop_shift)
    needs=frozenset({Capability.OPENZFS}),
)


def test_volumes_are_block_devices(cluster: Cluster) -> None:
    """Two of them, held while tasks write, attached once more, then read."""
    volumes = cluster.create_volumes(2)
    cluster.run(workloads.hold(volumes, seconds=1.0, timeout=30), settle=30)
    cluster.run(workloads.attach_detach(volumes, per_volume=1, timeout=30), settle=30)
    cluster.run(workloads.read_back(volumes, timeout=30), settle=30).must_satisfy(
        guarantees.no_acknowledged_write_is_lost,
        guarantees.lifecycle_order,
        guarantees.published_is_unpublished,
        guarantees.progress,
        guarantees.nothing_left_behind,
    )
