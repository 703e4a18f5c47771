"""Volumes attached to one node at once get a device name each (nomad pull request 17996).

A cloud's caller picks a free name and the cloud takes it a while later: of two calls at once the second
fails, as on Amazon EBS. An agent that sends one call after another never sees it.
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=1, plugins=[csi.zfs(latency=0.3)])


def test_device_names_are_taken_once(cluster: Cluster) -> None:
    """Four tasks on one node, each with a volume; every one of them runs at the first try."""
    volumes = cluster.create_volumes(4)
    history = cluster.run(
        workloads.attach_detach(volumes, per_volume=1, timeout=30, node="client1"), settle=30
    )
    history.must_satisfy(guarantees.progress, guarantees.claims_match_reality)
