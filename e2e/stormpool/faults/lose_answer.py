"""An answer that is lost."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.scene import Scene


class LoseAnswer(CallFault, frozen=True):
    """The call ends without an answer, whatever the plugin did (RST_STREAM)."""

    def inject(self, scene: Scene) -> str:
        """End it."""
        scene.call().lose()
        return scene.call().call.id
