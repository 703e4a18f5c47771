"""A volume is attached before it is staged, and unstaged before it is detached, however busy the plugin is.

With six volumes at once every detach waits its turn. Nomad 1.6.1 asks for each detach twice, once for the
client and once for the volume watcher; the second may come to its turn when the volume is attached anew, to
a task on the same node that is just being stopped: it is then detached while still mounted.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=3, clients=3, plugins=[csi.zfs(latency=0.3)])


def test_volumes_go_through_their_life_in_order(cluster: Cluster) -> None:
    """The workload of the serialization story, on one node and for longer, judged for order."""
    volumes = cluster.create_volumes(6)
    history = cluster.run(workloads.attach_detach(volumes, per_volume=5, node="client1"))
    history.must_satisfy(guarantees.lifecycle_order)
