"""A connection that breaks."""

from __future__ import annotations

from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class CutConnection(Fault, frozen=True):
    """The connection between the agent and the plugin is closed, with every call on it."""

    def inject(self, scene: Scene) -> str:
        """Close it."""
        scene.call().cut()
        return scene.call().call.id
