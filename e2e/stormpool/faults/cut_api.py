"""An agent's API that a plugin cannot reach."""

from __future__ import annotations

from stormpool import api_door
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class CutApi(Fault, frozen=True):
    """A node's plugins that go to its agent's API by the lab's door (`lab.API_DOOR`) find it closed.

    What they had asked ends without an answer. The agent goes on, and everybody else reaches it. Healed by
    opening the door.
    """

    target: Target

    def inject(self, scene: Scene) -> str:
        """Close it."""
        names = scene.nodes(self.target)
        for name in names:
            api_door.close_on(scene.cluster.nodes[name], scene.cluster.companions)
        return ", ".join(names)

    def heal(self, scene: Scene) -> None:
        """Open it."""
        for node in scene.clients_hit():
            api_door.open_on(node, scene.cluster.companions)
