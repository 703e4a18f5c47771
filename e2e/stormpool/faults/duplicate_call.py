"""A request that arrives twice."""

from __future__ import annotations

import msgspec

from stormpool.scene import Scene


class DuplicateCall(msgspec.Struct, frozen=True, tag=True):
    """The plugin gets the request once more than the caller sent it; nobody hears the first answer."""

    def inject(self, scene: Scene) -> str:
        """Send the copy; the call itself goes on after it."""
        scene.call().copy()
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Nothing is left to mend."""
