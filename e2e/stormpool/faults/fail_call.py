"""A call that is refused."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.scene import Scene


class FailCall(CallFault, frozen=True):
    """The caller gets a gRPC status in the plugin's place (numbers: grpc.io, "Status codes")."""

    code: int = 14  # UNAVAILABLE
    message: str = "refused by a fault"

    def inject(self, scene: Scene) -> str:
        """Answer for the plugin."""
        scene.call().refuse(self.code, self.message)
        return scene.call().call.id
