"""A client that no server hears while volumes are attached loses its claims, and no volume gets two writers.

The client is cut off when it has staged its first volume, long enough to be held for down, while others
want volumes too. Its tasks write on: their volumes may be given to others only once they cannot.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=3, clients=3, plugins=[csi.zfs()])


def test_clients_are_lost_while_volumes_are_attached(cluster: Cluster) -> None:
    """Judged once the client is back."""
    *volumes, other = cluster.create_volumes(4)
    cluster.run(
        workloads.hold(volumes, seconds=28, timeout=40),
        workloads.attach_detach([other], per_volume=6, timeout=15, after=14),
        nemesis.on(rpc("NodeStageVolume").answered, faults.Isolate(target.serving()), heal_after=20.0),
        settle=40,
    )
    history = cluster.run(
        workloads.read_back(volumes, timeout=25),
        workloads.attach_detach([other], per_volume=3, timeout=15),
        settle=25,
    )
    history.must_satisfy(
        guarantees.one_writer_a_volume,
        guarantees.no_acknowledged_write_is_lost,
        guarantees.claims_match_reality,
        guarantees.progress,
        guarantees.nothing_left_behind,
    )
