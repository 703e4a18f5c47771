"""A pool that a node has imported and writes to is not imported by another, whatever the servers believe.

Nomad detaches a volume from a client that it holds for down, and gives it to the next task, while the first
writes on. With `multihost` on (zpoolprops(7)) ZFS itself finds that the pool is in use, and refuses, though
the plugin forces the import: the volume has one writer. Without it both nodes write to one pool.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.capability import Capability
from stormpool.cluster import Cluster
from stormpool.events import Reply
from stormpool.faults import Fault
from stormpool.judge import RunHistory
from stormpool.lab import Lab
from stormpool.plugins import csi

OPENZFS = frozenset({Capability.OPENZFS})
LAB = Lab(servers=1, clients=2, plugins=[csi.zfs(multihost="on")], needs=OPENZFS)
LABS = {
    "test_without_multihost_two_nodes_write": Lab(servers=1, clients=2, plugins=[csi.zfs()], needs=OPENZFS)
}


def held_by_two(cluster: Cluster, fault: Fault) -> RunHistory:
    """What happens when the task's client is held for down, and is not."""
    held, other = cluster.create_volumes(2)
    cluster.run(
        workloads.hold([held], seconds=30, timeout=40),
        workloads.attach_detach([other], per_volume=4, timeout=20, after=16),
        nemesis.at(10.0, fault, heal_after=20.0),
        settle=60,
    )
    return cluster.run(workloads.read_back([held], timeout=30), settle=30)


def refused_by_zfs(history: RunHistory) -> RunHistory:
    """The same, of which it is certain that another node tried to import the pool."""
    answers = [rpc.end.message for rpc in history.rpcs({"NodeStageVolume"}) if isinstance(rpc.end, Reply)]
    refused = [each for each in answers if "imported on host" in each]
    assert refused, f"no other node tried to import the pool: nothing was tried ({answers})"
    return history


def test_a_client_stops(cluster: Cluster) -> None:
    """Its agent is stopped; its task and its pool are as they were."""
    refused_by_zfs(held_by_two(cluster, faults.PauseAgent(target.holder("vol1")))).must_satisfy(
        guarantees.one_writer_a_volume, guarantees.no_acknowledged_write_is_lost
    )


def test_a_client_is_cut_off(cluster: Cluster) -> None:
    """No server hears it."""
    refused_by_zfs(held_by_two(cluster, faults.Isolate(target.holder("vol1")))).must_satisfy(
        guarantees.one_writer_a_volume, guarantees.no_acknowledged_write_is_lost
    )


def test_without_multihost_two_nodes_write(cluster: Cluster) -> None:
    """The same as the first, in a pool that nobody guards: known to be red."""
    held_by_two(cluster, faults.PauseAgent(target.holder("vol1"))).must_satisfy(
        guarantees.one_writer_a_volume, guarantees.no_acknowledged_write_is_lost
    )
