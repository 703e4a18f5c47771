"""A request that arrives twice."""

from __future__ import annotations

from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class DuplicateCall(Fault, frozen=True):
    """The plugin gets the request once more than the caller sent it; nobody hears the first answer."""

    def inject(self, scene: Scene) -> str:
        """Send the copy; the call itself goes on after it."""
        scene.call().copy()
        return scene.call().call.id
