"""A plugin is deployed with a broken configuration, under a task that uses it, and then as it should be.

All must be as if it had not been: volumes that were held, that were given back while the plugin was broken,
and those that were wanted then. Agents forget that the plugin has controllers while none is there: what is
given back then, or soon after, stays attached to its node, and no other node gets it.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs(health_timeout=10.0)])
JUDGED = (
    guarantees.lifecycle_order,
    guarantees.published_is_unpublished,
    guarantees.one_writer_a_volume,
    guarantees.claims_match_reality,
    guarantees.progress,
    guarantees.nothing_left_behind,
)


def redeployed(cluster: Cluster, *argv: str) -> None:
    """Some are held all the time, one is given back while the plugin is broken, one is wanted then.

    Those that are held are given back one after another while the plugin comes back, node service first.
    """
    left, wanted, *held = cluster.create_volumes(6)
    history = cluster.run(
        *(workloads.hold([each], seconds=15 + number * 0.7, timeout=30) for number, each in enumerate(held)),
        workloads.hold([left], seconds=5, timeout=30),
        workloads.attach_detach([wanted], per_volume=2, timeout=30, after=4.0),
        nemesis.at(3.0, faults.MisconfigurePlugin("zfs", argv), heal_after=9.0),
        settle=20,
    )
    history.must_satisfy(*JUDGED)


def test_a_plugin_that_ends_at_once(cluster: Cluster) -> None:
    """Its command fails whenever it is started."""
    redeployed(cluster, "/bin/false")


def test_a_plugin_that_never_listens(cluster: Cluster) -> None:
    """It runs, and serves nothing."""
    redeployed(cluster, "/bin/sleep", "inf")


def test_a_plugin_that_is_not_there(cluster: Cluster) -> None:
    """Its command cannot be started at all."""
    redeployed(cluster, "/no/such/plugin")
