"""An answer that is lost."""

from __future__ import annotations

import msgspec

from stormpool.scene import Scene


class LoseAnswer(msgspec.Struct, frozen=True, tag=True):
    """The call ends without an answer, whatever the plugin did (RST_STREAM)."""

    def inject(self, scene: Scene) -> str:
        """End it."""
        scene.call().lose()
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Nothing is left to mend."""
