"""A volume that an operator detaches."""

from __future__ import annotations

from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import holder


class DetachVolume(Fault, frozen=True):
    """A volume is detached from its holder, as by `nomad volume detach`, whatever uses it.

    Injecting it fails, with the agents' words, when they cannot. Nothing heals it but a new allocation.
    """

    volume: str

    def inject(self, scene: Scene) -> str:
        """Ask for it."""
        name = scene.node(holder(self.volume))
        node = scene.cluster.agents.id_of(name)
        scene.cluster.api().delete(f"volume/csi/{self.volume}/detach", node=node)
        return f"{self.volume} from {name}"
