"""A plugin that takes twelve seconds to attach a volume holds up no other plugin (nomad pull request 17996).

Calls to one plugin wait for one another on agents that serialize them; calls to different plugins never do.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs(id="slow", latency=12.0), csi.zfs(id="quick")])


def test_a_slow_plugin_holds_up_no_other(cluster: Cluster) -> None:
    """The quick one's volumes come and go on another node meanwhile."""
    slow = cluster.create_volumes(1, plugin="slow")
    quick = cluster.create_volumes(2, plugin="quick")
    history = cluster.run(
        workloads.attach_detach(slow, per_volume=1, timeout=40, node="client1"),
        workloads.attach_detach(quick, per_volume=1, timeout=40, node="client2", after=3.0),
        settle=40,
    )
    history.must_satisfy(guarantees.plugins_are_independent, guarantees.lifecycle_order, guarantees.progress)
