"""A controller whose last probe failed is asked for nothing (pull request 17996, second change).

Of two controllers one answers every probe with an error. The agents find that out at their next look,
within 40 s; from then on volumes are attached, and only the other controller may be asked. Nomad 1.6.0 asks
either.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.judge import RunHistory
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs(controllers=2)])
FOUND_OUT = 42.0  # seconds: probes are 30 s apart, and clients tell of them 5 to 10 s later


def test_only_healthy_controllers_are_asked(cluster: Cluster) -> None:
    """Judged over calls made after the servers hold one controller for unhealthy."""
    attach_while_one_is_not_well(cluster).must_satisfy(guarantees.healthy_controllers)


def test_a_plugin_still_needs_its_controllers(cluster: Cluster) -> None:
    """Volumes are attached before they are staged, though one controller is not well.

    A client whose controller fails its probe tells of a plugin that needs no controller, and the servers
    believe the client that spoke last: from then on, until another speaks, nothing is attached, or detached.
    """
    attach_while_one_is_not_well(cluster, per_volume=6).must_satisfy(guarantees.lifecycle_order)


def attach_while_one_is_not_well(cluster: Cluster, per_volume: int = 2) -> RunHistory:
    """Every probe on one node fails; volumes are wanted once the servers know."""
    volumes = cluster.create_volumes(4)
    return cluster.run(
        workloads.attach_detach(volumes, per_volume, timeout=20, after=FOUND_OUT),
        nemesis.on(rpc("Probe", node="client1").every.before, faults.FailCall(code=13)),
        settle=15,
    )
