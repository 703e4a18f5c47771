"""A plugin that dies at any point of its work comes back, and what it was asked for comes about in the end.

Killed before it has the call, while it has it, and once it has answered and nobody has heard. Nomad detaches
the volume meanwhile, without having it unstaged: two nodes may then have its pool, and it may be damaged.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import OnCall, rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs()])


def test_a_plugin_is_killed_before_it_publishes(cluster: Cluster) -> None:
    """It never has the call."""
    killed_at(cluster, rpc("NodePublishVolume").before)


def test_a_plugin_is_killed_while_it_publishes(cluster: Cluster) -> None:
    """It has the call, and dies with it."""
    killed_at(cluster, rpc("NodePublishVolume").during)


def test_a_plugin_is_killed_once_it_has_published(cluster: Cluster) -> None:
    """Its answer is on its way."""
    killed_at(cluster, rpc("NodePublishVolume").answered)


def test_a_plugin_is_killed_while_it_unstages(cluster: Cluster) -> None:
    """The pool may be half exported."""
    killed_at(cluster, rpc("NodeUnstageVolume").during)


def killed_at(cluster: Cluster, point: OnCall) -> None:
    """The volume must be usable again afterwards."""
    volumes = cluster.create_volumes(1)
    cluster.run(
        workloads.attach_detach(volumes, per_volume=2, timeout=30),
        nemesis.on(point, faults.KillPlugin()),
        settle=30,
    )
    history = cluster.run(workloads.read_back(volumes, timeout=25), settle=25)
    history.must_satisfy(
        guarantees.lifecycle_order,
        guarantees.published_is_unpublished,
        guarantees.one_writer_a_volume,
        guarantees.no_acknowledged_write_is_lost,
        guarantees.claims_match_reality,
        guarantees.progress,
        guarantees.nothing_left_behind,
    )
