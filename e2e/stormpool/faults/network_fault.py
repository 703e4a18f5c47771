"""What every fault of the network between nodes has in common."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class NetworkFault(Fault, frozen=True):
    """Packets between nodes are dropped; established connections stall, none is reset."""

    needs = frozenset({Capability.FIREWALL, Capability.AGENTS})

    def heal(self, scene: Scene) -> None:
        """Let the packets go; when nothing is wrong with any link any more, wait until the servers agree."""
        scene.links.restore(scene)
        if scene.links.whole:
            scene.cluster.agents.wait_agreed()
