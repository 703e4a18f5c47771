"""Of several controllers the healthy one with the lowest client id is asked, every time.

Nomad 1.6.1 means to sort them and does not (issue 26640): a call goes to any of them. 1.10.5 does.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=3, plugins=[csi.zfs()])


def test_calls_go_to_the_lowest_healthy_controller(cluster: Cluster) -> None:
    """Three controllers stay healthy throughout, so one of them alone should be asked."""
    volumes = cluster.create_volumes(3)
    history = cluster.run(workloads.attach_detach(volumes, per_volume=3))
    history.must_satisfy(guarantees.lowest_healthy_controller)
