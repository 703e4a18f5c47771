"""A task whose node loses its power is placed anew, with its volume and every write it had told of.

The node with the consumer and a controller crashes and stays away. Once it is held for lost the volume is
to be attached elsewhere; other volumes are attached and detached meanwhile, as in any cluster that is in
use, for the servers look after claims only when something is written to the table of volumes. Nomad 1.3.1
tries to detach the volume on the dead node first, for ever (issue 13301). The node comes back later, and
must not take it back.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=3, plugins=[csi.zfs()])


def test_a_node_is_lost_under_a_task(cluster: Cluster) -> None:
    """The task must run elsewhere before the node is back."""
    lost, other = cluster.create_volumes(2)
    cluster.run(
        workloads.hold([lost], seconds=25, timeout=25),
        workloads.attach_detach([other], per_volume=6, timeout=15, after=12),
        nemesis.at(4.0, faults.CrashNode(target.holder(lost))),
        settle=40,
    )
    history = cluster.run(
        workloads.read_back([lost], timeout=25),
        workloads.attach_detach([other], per_volume=3, timeout=15),
        settle=25,
    )
    history.must_satisfy(
        guarantees.every_job_runs,
        guarantees.one_writer_a_volume,
        guarantees.no_acknowledged_write_is_lost,
        guarantees.claims_match_reality,
        guarantees.progress,
        guarantees.nothing_left_behind,
    )
