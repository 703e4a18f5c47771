"""Two sides that cannot hear each other."""

from __future__ import annotations

from itertools import product

from stormpool.faults.network_fault import NetworkFault
from stormpool.scene import Scene
from stormpool.target import Target


class Partition(NetworkFault, frozen=True):
    """No packet passes between two sides, either way; the other side is every other node if not given."""

    side: Target
    other: Target | None = None

    def inject(self, scene: Scene) -> str:
        """Cut them apart."""
        side = scene.nodes(self.side)
        other = scene.nodes(self.other) if self.other else scene.others(side)
        scene.links.drop([*product(side, other), *product(other, side)], by=scene)
        return f"{', '.join(side)} | {', '.join(other)}"
