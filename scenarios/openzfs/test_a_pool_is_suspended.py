"""A pool whose disk refuses writes waits for it, and its task with it; then both go on, and nothing is lost.

The way out of a suspended pool is a disk that takes writes again, and `zpool clear` (zpool-clear(8)); agent,
plugin and task are not restarted for it.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.capability import Capability
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()], needs=frozenset({Capability.OPENZFS}))


def test_a_pool_is_suspended(cluster: Cluster) -> None:
    """For some seconds, while a task writes and syncs."""
    held, *_ = cluster.create_volumes(1)
    cluster.run(
        workloads.hold([held], seconds=20, timeout=30),
        nemesis.at(10.0, faults.SuspendPools(held), heal_after=4.0),
        settle=40,
    )
    cluster.run(workloads.read_back([held], timeout=30), settle=30).must_satisfy(
        guarantees.every_job_runs,
        guarantees.no_acknowledged_write_is_lost,
        guarantees.recovered_task_is_the_same,
        guarantees.claims_match_reality,
        guarantees.progress,
        guarantees.nothing_left_behind,
    )
