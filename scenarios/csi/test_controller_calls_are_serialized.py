"""The plugin's controller is asked for one destructive thing at a time, whatever the clients do.

Six volumes are attached to tasks and detached again, all at once. A cloud that takes 0.3 s to attach a
disk, and picks a free slot before it takes it, suffers from calls that overlap: two of them pick the same
slot. Nomad 1.6.0 lets them overlap; 1.6.1 serializes them (pull request 17996).
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=3, clients=3, plugins=[csi.zfs(latency=0.3)])


def test_controller_calls_are_serialized(cluster: Cluster) -> None:
    """Overlaps are judged, and all that overlaps could break."""
    volumes = cluster.create_volumes(6)
    history = cluster.run(workloads.attach_detach(volumes, per_volume=3))
    history.must_satisfy(
        guarantees.serialized_controller_calls,
        guarantees.claims_match_reality,
        guarantees.one_writer_a_volume,
        guarantees.nothing_left_behind,
    )
