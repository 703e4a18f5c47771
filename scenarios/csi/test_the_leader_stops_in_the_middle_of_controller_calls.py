"""A leader that stops while it has volumes attached is followed by another, and nobody is the worse for it.

Six slow attachments are under way when the leader is paused; another server takes over, and the old one
comes back four seconds later, with calls it had begun. Calls of both at once are told apart: the lock is a
leader's own. Claims must be recovered, and every task run in the end.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=3, clients=3, plugins=[csi.zfs(latency=0.3)])


def test_the_leader_stops_in_the_middle_of_controller_calls(cluster: Cluster) -> None:
    """Judged once the old leader is back."""
    volumes = cluster.create_volumes(6)
    history = cluster.run(
        workloads.attach_detach(volumes, per_volume=2, timeout=40),
        nemesis.on(
            rpc("ControllerPublishVolume").nth(3).during, faults.PauseAgent(target.leader()), heal_after=4.0
        ),
        settle=40,
    )
    history.must_satisfy(
        guarantees.serialized_controller_calls,
        guarantees.claims_match_reality,
        guarantees.one_writer_a_volume,
        guarantees.progress,
        guarantees.one_leader_a_term,
        guarantees.nothing_left_behind,
    )
