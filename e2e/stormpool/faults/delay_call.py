"""A call that takes longer."""

from __future__ import annotations

import threading

import msgspec

from stormpool.scene import Scene


class DelayCall(msgspec.Struct, frozen=True, tag=True):
    """The call goes on so many seconds later."""

    seconds: float

    def inject(self, scene: Scene) -> str:
        """Wait."""
        threading.Event().wait(self.seconds)
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Nothing is left to mend."""
