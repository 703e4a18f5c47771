"""A volume with its room reserved takes its task's writes while a neighbour has filled the pool they share.

Datasets of one pool share its room; a quota only says how much one may take. What is reserved is nobody
else's (zfsprops(7), refreservation). A volume whose quota is reached is full, and its neighbours are not.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

RESERVED = csi.zfs(id="reserved", kind="dataset", reservation="on")
LAB = Lab(servers=1, clients=1, plugins=[RESERVED, csi.zfs(id="plain", kind="dataset")], pool_mib=256)
JUDGED = (
    guarantees.no_acknowledged_write_is_lost,
    guarantees.published_is_unpublished,
    guarantees.progress,
    guarantees.nothing_left_behind,
)


def test_a_volume_has_the_room_it_was_made_with(cluster: Cluster) -> None:
    """The pool is filled, to its last block, beside a volume that is written to."""
    held = cluster.create_volumes(1, plugin="reserved")
    neighbour = cluster.create_volumes(1, plugin="plain")
    cluster.run(
        workloads.hold(held, seconds=10, timeout=30),
        nemesis.at(2.0, faults.FillPool(neighbour[0]), heal_after=6.0),
        settle=30,
    )
    cluster.run(workloads.read_back(held, timeout=25), settle=25).must_satisfy(
        *JUDGED, guarantees.room_is_there
    )


def test_a_volume_that_is_full_fills_no_other(cluster: Cluster) -> None:
    """One of two reaches its quota, and goes on once there is room again; the other goes on all the time."""
    full, other = cluster.create_volumes(2, plugin="plain")
    cluster.run(
        workloads.hold([full, other], seconds=10, timeout=30),
        nemesis.at(2.0, faults.ReachQuota(full), heal_after=4.0),
        settle=30,
    )
    cluster.run(workloads.read_back([full, other], timeout=25), settle=25).must_satisfy(
        *JUDGED, guarantees.room_is_there
    )
