"""A volume with its room reserved takes its task's writes while the pool it is in is full.

Datasets of one pool share its room; a quota only says how much one may take. What is reserved is nobody
else's (zfsprops(7), refreservation). A volume whose quota is reached is full, and its neighbours are not.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs(kind="dataset", reservation="on")], pool_mib=192)
LABS = {"test_a_volume_that_is_full_fills_no_other": Lab(clients=1, plugins=[csi.zfs(kind="dataset")])}
JUDGED = (
    guarantees.room_is_there,
    guarantees.no_acknowledged_write_is_lost,
    guarantees.published_is_unpublished,
    guarantees.progress,
    guarantees.nothing_left_behind,
)


def test_a_volume_has_the_room_it_was_made_with(cluster: Cluster) -> None:
    """The pool is filled, to its last block, before a task has the volume, and is as full when it is done."""
    volumes = cluster.create_volumes(1)
    begins = rpc("NodePublishVolume").nth(1).before
    cluster.run(
        workloads.hold(volumes, seconds=6, timeout=30),
        nemesis.on(begins, faults.FillPool(volumes[0])),
        settle=30,
    )
    cluster.run(workloads.read_back(volumes, timeout=25), settle=25).must_satisfy(*JUDGED)


def test_a_volume_that_is_full_fills_no_other(cluster: Cluster) -> None:
    """One of two reaches its quota, and goes on once there is room again; the other goes on all the time."""
    full, other = cluster.create_volumes(2)
    cluster.run(
        workloads.hold([full, other], seconds=10, timeout=30),
        nemesis.at(2.0, faults.ReachQuota(full), heal_after=4.0),
        settle=30,
    )
    cluster.run(workloads.read_back([full, other], timeout=25), settle=25).must_satisfy(*JUDGED)
