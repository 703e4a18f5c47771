"""An encrypted volume is of use with its key alone, which is on a node only while the volume is used there.

The key is a secret of the volume in Nomad's books, and comes with the calls that make and stage it. The
plugin keeps it nowhere: it loads it into ZFS when the volume is staged, and unloads it when it is unstaged.
"""

from stormpool import guarantees, workloads
from stormpool.capability import Capability
from stormpool.cluster import Cluster
from stormpool.events import Reply
from stormpool.history import History
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(
    servers=1,
    clients=1,
    plugins=[csi.zfs(kind="dataset", encryption="on")],
    needs=frozenset({Capability.OPENZFS}),
)
KEY, OTHER = {"hex": "0" * 63 + "7"}, {"hex": "0" * 63 + "8"}
JUDGED = (
    guarantees.keys_are_unloaded,
    guarantees.no_acknowledged_write_is_lost,
    guarantees.lifecycle_order,
    guarantees.published_is_unpublished,
    guarantees.nothing_left_behind,
)


def test_keys_come_with_the_calls(cluster: Cluster) -> None:
    """The volume is held while a task writes, used once more, and read."""
    volumes = cluster.create_volumes(1, secrets=KEY)
    cluster.run(workloads.hold(volumes, seconds=1.0, timeout=30), settle=30)
    cluster.run(workloads.attach_detach(volumes, per_volume=1, timeout=30), settle=30)
    cluster.run(workloads.read_back(volumes, timeout=30), settle=30)
    cluster.run(workloads.look_at_keys(volumes)).must_satisfy(*JUDGED, guarantees.progress)


def test_another_key_is_refused(cluster: Cluster) -> None:
    """The volume is written to, is of no use to who has another key, and is of use again."""
    volumes = cluster.create_volumes(1, secrets=KEY)
    cluster.run(workloads.hold(volumes, seconds=1.0, timeout=30), settle=30)
    cluster.change_secrets(volumes[0], OTHER)
    history = cluster.run(workloads.end_by_itself(volumes, code=0, timeout=15), settle=30)
    assert "UNAUTHENTICATED" in answers(history)
    cluster.change_secrets(volumes[0], KEY)
    cluster.run(workloads.read_back(volumes, timeout=30), settle=30)
    cluster.run(workloads.look_at_keys(volumes)).must_satisfy(*JUDGED)


def answers(history: History) -> set[str]:
    """What NodeStageVolume was answered, by the names of gRPC's status codes."""
    return {rpc.end.code for rpc in history.rpcs({"NodeStageVolume"}) if isinstance(rpc.end, Reply)}
