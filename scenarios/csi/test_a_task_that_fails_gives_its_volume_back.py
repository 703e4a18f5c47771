"""A volume whose task has failed is detached again, though nobody stops the job (issue 14484).

Nomad 1.3.1 takes the allocation that has just failed for one that still uses the volume: it drops the claim
and leaves the disk attached. 1.6.1 detaches it.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()])


def test_a_task_that_fails_gives_its_volume_back(cluster: Cluster) -> None:
    """Three tasks, one after another, each on a volume of its own."""
    volumes = cluster.create_volumes(3)
    history = cluster.run(workloads.end_by_itself(volumes, code=1, timeout=20), settle=10)
    history.must_satisfy(guarantees.published_is_unpublished, guarantees.claims_match_reality)
