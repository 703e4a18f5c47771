"""The claims of a node that is purged are freed, and its volumes attached elsewhere.

The node's power is cut, and the node forgotten. Nomad 1.6.1 keeps the claim for ever, and writes to its
books some 700 times a second; 1.10.5 frees the claim and leaves the disk attached (issue 25428).
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs()])


def test_a_node_is_purged_with_its_claims(cluster: Cluster) -> None:
    """The volume must be attached elsewhere in the end."""
    held, other = cluster.create_volumes(2)
    history = cluster.run(
        workloads.hold([held], seconds=20, timeout=25),
        workloads.attach_detach([other], per_volume=6, timeout=15, after=13),
        nemesis.at(3.0, faults.CrashNode(target.holder(held)))
        + nemesis.at(12.0, faults.PurgeNode(target.holder(held))),
        settle=30,
    )
    history.must_satisfy(guarantees.claims_match_reality, guarantees.progress, guarantees.nothing_left_behind)
