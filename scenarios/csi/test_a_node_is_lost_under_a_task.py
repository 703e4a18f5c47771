"""A task whose node loses its power is placed anew, with its volume and every write it had told of.

The node with the consumer and a controller crashes and stays away until it is held for lost; the volume is
attached elsewhere. Nomad 1.3.1 tries to detach it on the dead node first, for ever (issue 13301). The node
comes back later, and must not take the volume back.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=3, plugins=[csi.zfs()])


def test_a_node_is_lost_under_a_task(cluster: Cluster) -> None:
    """The task must run elsewhere before the node is back."""
    volumes = cluster.create_volumes(1)
    cluster.run(
        workloads.hold(volumes, seconds=25, timeout=30),
        nemesis.at(4.0, faults.CrashNode(target.holder(volumes[0]))),
        settle=40,
    )
    history = cluster.run(workloads.read_back(volumes, timeout=25), settle=25)
    history.must_satisfy(
        guarantees.one_writer_a_volume,
        guarantees.no_acknowledged_write_is_lost,
        guarantees.claims_match_reality,
        guarantees.progress,
        guarantees.nothing_left_behind,
    )
