"""A call that is refused."""

from __future__ import annotations

import msgspec

from stormpool.scene import Scene


class FailCall(msgspec.Struct, frozen=True, tag=True):
    """The caller gets a gRPC status in the plugin's place (numbers: grpc.io, "Status codes")."""

    code: int = 14  # UNAVAILABLE
    message: str = "refused by a fault"

    def inject(self, scene: Scene) -> str:
        """Answer for the plugin."""
        scene.call().refuse(self.code, self.message)
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """Nothing is left to mend."""
