"""A client's garbage that is collected."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class CollectClientGarbage(Fault, frozen=True):
    """A client forgets its allocations that are over, with their directories (`/v1/client/gc`)."""

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Ask for it."""
        name = scene.node(self.target)
        scene.cluster.api(name).get("client/gc")
        return name
