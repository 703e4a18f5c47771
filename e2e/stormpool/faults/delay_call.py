"""A call that takes longer."""

from __future__ import annotations

import threading

from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class DelayCall(Fault, frozen=True):
    """The call goes on so many seconds later."""

    seconds: float

    def inject(self, scene: Scene) -> str:
        """Wait."""
        threading.Event().wait(self.seconds)
        return scene.call().call.id
