"""A leader that hands over."""

from __future__ import annotations

from stormpool.agents.api import ApiError
from stormpool.agents.nomad import RPC_PORT
from stormpool.capability import Capability
from stormpool.errors import MachineError
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target, follower, leader
from stormpool.wait import wait_until

FOLLOWER = follower()
WITHIN = 15.0  # seconds until the other leads; under 1 as seen


class TransferLeadership(Fault, frozen=True):
    """The leader hands over to another server, as by `nomad operator raft transfer-leadership`.

    Agents from 1.7 on can; injecting it fails with others. It is injected when the other leads.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target = FOLLOWER

    def inject(self, scene: Scene) -> str:
        """Ask for it and wait."""
        name = scene.node(self.target)
        address = f"{scene.site.nodes[name].address}:{RPC_PORT}"
        try:
            scene.cluster.api().put("operator/raft/transfer-leadership", address=address)
        except ApiError as refused:
            if refused.status not in (404, 405):
                raise
            raise MachineError(f"agents of this version hand leadership to nobody: {refused}") from refused
        wait_until(f"{name} leads", lambda: scene.node(leader()), lambda now: now == name, timeout=WITHIN)
        return name
