"""A volume that a plugin could not unpublish from a task's directory is not detached under it.

Every NodeUnpublishVolume fails for some seconds. Every Nomad tried asks for the detach at once all the same,
with the volume still mounted and staged.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()])


def test_a_volume_that_cannot_be_unmounted_stays_attached(cluster: Cluster) -> None:
    """A later try does."""
    volumes = cluster.create_volumes(1)
    history = cluster.run(
        workloads.attach_detach(volumes, per_volume=1, timeout=15),
        nemesis.on(rpc("NodeUnpublishVolume").every.within(4.0).before, faults.FailCall(code=13)),
        settle=25,
    )
    history.must_satisfy(guarantees.lifecycle_order)
