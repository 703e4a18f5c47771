"""What a task had synced and told of is there after its node has lost its power, when ZFS keeps its word.

`fsync` writes to the pool's intent log, and the next import replays it (zpoolconcepts(7), *Intent Log*). In a
pool with `sync=disabled` (zfsprops(7)) it does nothing, and some seconds of what was told of are gone.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.capability import Capability
from stormpool.cluster import Cluster
from stormpool.events import Acknowledged, Fault
from stormpool.judge import RunHistory
from stormpool.lab import Lab
from stormpool.plugins import csi

OPENZFS = frozenset({Capability.OPENZFS})
LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()], needs=OPENZFS)
LABS = {
    "test_a_pool_that_does_not_sync": Lab(
        servers=1, clients=1, plugins=[csi.zfs(sync="disabled")], needs=OPENZFS
    )
}


def after_a_power_cut(cluster: Cluster) -> RunHistory:
    """What the volume holds afterwards; the node boots again, and the task is started anew."""
    held, *_ = cluster.create_volumes(1)
    history = cluster.run(
        workloads.hold([held], seconds=25, timeout=40),
        nemesis.at(15.0, faults.CrashNode(target.holder(held)), heal_after=3.0),
        settle=60,
    )
    back = next(each.t for each in history.of(Fault) if each.step == "healed")
    told = sum(each.writes for each in history.of(Acknowledged) if each.t < back)
    assert told, "the power was cut before the task had told of a write: nothing was tried"
    return cluster.run(workloads.read_back([held], timeout=30), settle=30)


def test_power_is_cut_while_a_task_writes(cluster: Cluster) -> None:
    """Once."""
    after_a_power_cut(cluster).must_satisfy(
        guarantees.no_acknowledged_write_is_lost, guarantees.progress, guarantees.nothing_left_behind
    )


def test_a_pool_that_does_not_sync(cluster: Cluster) -> None:
    """The same in a pool that lies: known to be red."""
    after_a_power_cut(cluster).must_satisfy(guarantees.no_acknowledged_write_is_lost)
