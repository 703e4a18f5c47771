"""A request that arrives twice."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.nemesis import Phase
from stormpool.scene import Scene


class DuplicateCall(CallFault, frozen=True):
    """The plugin gets the request once more than the caller sent it; nobody hears the first answer."""

    phases = (Phase.BEFORE,)

    def inject(self, scene: Scene) -> str:
        """Send the copy; the call itself goes on after it."""
        scene.call().copy()
        return scene.call().call.id
