"""Two volumes are attached to tasks and detached again, twice each: nothing is broken on purpose.

Every agent passes it. It is there to be explored: `stormpool explore` breaks something at every call of it,
and the second time around shows whether a volume can still be used after what the first had to bear.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=3, clients=3, plugins=[csi.zfs()])


def test_volumes_are_attached_and_detached(cluster: Cluster) -> None:
    """All that can be said of volumes is judged."""
    volumes = cluster.create_volumes(2)
    history = cluster.run(workloads.attach_detach(volumes, per_volume=2, timeout=25), settle=25)
    history.must_satisfy(
        guarantees.serialized_controller_calls,
        guarantees.lifecycle_order,
        guarantees.one_writer_a_volume,
        guarantees.claims_match_reality,
        guarantees.nothing_left_behind,
    )
