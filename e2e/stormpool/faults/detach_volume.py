"""A volume that an operator detaches."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target, holder


class DetachVolume(Fault, frozen=True):
    """A volume is detached from a node, as by `nomad volume detach`: from its holder when none is named.

    The servers detach what allocations that have ended have left there; where they refuse, injecting it fails
    with their words. Every request is refused by Nomad 1.6.1, 1.8.0 and 1.10.5 ("Unknown allocation"), not by
    1.3.1. Nothing is to be healed.
    """

    needs = frozenset({Capability.AGENTS})

    volume: str
    target: Target | None = None

    def inject(self, scene: Scene) -> str:
        """Ask for it."""
        name = scene.node(self.target or holder(self.volume))
        node = scene.cluster.agents.id_of(name)
        scene.cluster.api().delete(f"volume/csi/{self.volume}/detach", node=node)
        return f"{self.volume} from {name}"
