"""A connection that breaks."""

from __future__ import annotations

import msgspec

from stormpool.scene import Scene


class CutConnection(msgspec.Struct, frozen=True, tag=True):
    """The connection between the agent and the plugin is closed, with every call on it."""

    def inject(self, scene: Scene) -> str:
        """Close it."""
        scene.call().cut()
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Nothing is left to mend."""
