"""A volume that is in one node's pool goes where its task goes, with every write the task had told of.

It is sent from pool to pool (`zfs send`, `zfs recv`): what was there when it was staged, and what came since
once it is unmounted. Nothing of it stays where it was.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs(kind="moving")])
JUDGED = (
    guarantees.no_acknowledged_write_is_lost,
    guarantees.one_writer_a_volume,
    guarantees.one_pool_a_volume,
    guarantees.lifecycle_order,
    guarantees.published_is_unpublished,
    guarantees.claims_match_reality,
    guarantees.progress,
    guarantees.nothing_left_behind,
)


def test_a_volume_moves_with_its_task(cluster: Cluster) -> None:
    """Its task is stopped on one node, and another is started elsewhere."""
    volumes = cluster.create_volumes(1)
    cluster.run(workloads.attach_detach(volumes, per_volume=2, node="client1"), settle=30)
    cluster.run(workloads.hold(volumes, seconds=2, node="client2"), settle=30)
    history = cluster.run(workloads.read_back(volumes, timeout=25), settle=25)
    history.must_satisfy(*JUDGED)


def test_a_volume_moves_when_its_node_is_drained(cluster: Cluster) -> None:
    """The task writes, its node is drained, it writes on elsewhere."""
    volumes = cluster.create_volumes(1)
    cluster.run(
        workloads.hold(volumes, seconds=12, timeout=30),
        nemesis.at(3.0, faults.DrainNode(target.holder(volumes[0]), ignore_system_jobs=True)),
        settle=30,
    )
    history = cluster.run(workloads.read_back(volumes, timeout=25), settle=25)
    history.must_satisfy(*JUDGED, guarantees.every_job_runs)
