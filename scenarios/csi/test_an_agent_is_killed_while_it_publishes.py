"""An agent that is killed while a plugin publishes a volume takes the volume down in order once it is back.

The agent on the node that holds the volume is killed when the plugin has the call and has not answered; it
is started again a second later. Nomad 1.6.1 does not know then that the volume is staged: it has it
detached under the mount, and leaves the mount and the pool on the node for good.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs()])


def test_an_agent_is_killed_while_it_publishes(cluster: Cluster) -> None:
    """Judged once the agent is back and all had time to settle."""
    volumes = cluster.create_volumes(2)
    history = cluster.run(
        workloads.attach_detach(volumes, per_volume=1, timeout=40),
        nemesis.on(
            rpc("NodePublishVolume", volume=volumes[0]).during,
            faults.KillAgent(target.serving()),
            heal_after=1.0,
        ),
        settle=20,
    )
    history.must_satisfy(
        guarantees.lifecycle_order, guarantees.nothing_left_behind, guarantees.claims_match_reality
    )
