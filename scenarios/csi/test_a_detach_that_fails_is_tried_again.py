"""A plugin that cannot detach for a while is asked again, in measure, until it can (issues 14675 and 15415).

Every ControllerUnpublishVolume is refused for the first eight seconds. Nomad 1.3.1 gives up after two;
1.6.1 asks some 250 times a second meanwhile; 1.10.5 about once a second.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()])


def test_a_detach_that_fails_is_tried_again(cluster: Cluster) -> None:
    """The volume is to be used again afterwards, and no claim left."""
    volumes = cluster.create_volumes(1)
    history = cluster.run(
        workloads.attach_detach(volumes, per_volume=2, timeout=30),
        nemesis.on(rpc("ControllerUnpublishVolume").every.within(8.0).before, faults.FailCall(code=13)),
        settle=30,
    )
    history.must_satisfy(
        guarantees.published_is_unpublished, guarantees.claims_match_reality, guarantees.progress
    )
