"""A call that hangs."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.scene import Scene


class HangCall(CallFault, frozen=True):
    """The call stops where it is until the fault is healed."""

    holds_its_call = True

    def inject(self, scene: Scene) -> str:
        """Leave it where it is."""
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Let it go on."""
        scene.call().go_on()
