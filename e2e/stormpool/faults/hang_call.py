"""A call that hangs."""

from __future__ import annotations

import msgspec

from stormpool.scene import HoldsItsCall, Scene


class HangCall(HoldsItsCall, msgspec.Struct, frozen=True, tag=True):
    """The call stops where it is until the fault is healed."""

    def inject(self, scene: Scene) -> str:
        """Leave it where it is."""
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Let it go on."""
        scene.call().go_on()
