"""A controller on a node that is not eligible for new work still serves (pull request 17996, third change).

The only controller's node is made ineligible; a task on another node wants a volume. Nomad 1.6.0 finds no
client that runs a controller, and the task fails; 1.6.1 asks the one there is.
"""

from stormpool import guarantees, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi
from stormpool.scene import Scene

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs(controllers=1)])


def test_an_ineligible_node_still_serves(cluster: Cluster) -> None:
    """The task must come to run while the node stays ineligible."""
    volumes = cluster.create_volumes(1)
    serving = cluster.agents.id_of(Scene(cluster).node(target.controller()))
    cluster.api().put(f"node/{serving}/eligibility", {"NodeID": serving, "Eligibility": "ineligible"})
    history = cluster.run(workloads.attach_detach(volumes, per_volume=1, timeout=12), settle=15)
    history.must_satisfy(guarantees.progress, guarantees.claims_match_reality)
