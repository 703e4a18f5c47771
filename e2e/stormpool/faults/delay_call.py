"""A call that takes longer."""

from __future__ import annotations

import threading

from stormpool.faults.call_fault import CallFault
from stormpool.scene import Scene


class DelayCall(CallFault, frozen=True):
    """The call goes on so many seconds later."""

    seconds: float

    def inject(self, scene: Scene) -> str:
        """Wait."""
        threading.Event().wait(self.seconds)
        return scene.call().call.id
