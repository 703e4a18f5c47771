"""A connection that breaks."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.nemesis import Phase
from stormpool.scene import Scene


class CutConnection(CallFault, frozen=True):
    """The connection between the agent and the plugin is closed, with every call on it."""

    phases = tuple(Phase)

    def inject(self, scene: Scene) -> str:
        """Close it."""
        scene.call().cut()
        return scene.call().call.id
