"""A volume is not given to another task while the first still writes to it.

The agent of the node is stopped, so that the servers hold it for down; its task knows nothing of that and
writes on. Nomad detaches the volume from such a node without asking it, and gives it to the next task.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=3, plugins=[csi.zfs()])


def test_a_client_stops_while_its_task_writes(cluster: Cluster) -> None:
    """Judged by what runs on the nodes."""
    held, other = cluster.create_volumes(2)
    cluster.run(
        workloads.hold([held], seconds=25, timeout=30),
        workloads.attach_detach([other], per_volume=6, timeout=15, after=12),
        nemesis.at(3.0, faults.PauseAgent(target.holder(held)), heal_after=20.0),
        settle=40,
    )
    history = cluster.run(
        workloads.read_back([held], timeout=25),
        workloads.attach_detach([other], per_volume=3, timeout=15),
        settle=25,
    )
    history.must_satisfy(guarantees.one_writer_a_volume, guarantees.no_acknowledged_write_is_lost)
