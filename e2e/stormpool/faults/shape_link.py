"""A link that is slow, or loses packets."""

from __future__ import annotations

import msgspec

from stormpool.capability import Capability
from stormpool.faults.network_fault import NetworkFault
from stormpool.links import Shape
from stormpool.scene import Scene
from stormpool.target import Target


class ShapeLink(NetworkFault, frozen=True):
    """Every packet to and from a node is delayed, lost, copied, overtaken or slowed down.

    Each way: a round trip takes twice the delay longer. Chances are drawn by the run's seed.
    """

    needs = frozenset({Capability.LINK})

    target: Target
    delay: float = 0.0  # seconds
    jitter: float = 0.0  # seconds that the delay may be off by, either way
    loss: float = 0.0  # share of the packets, 0 to 1
    duplicate: float = 0.0  # share of the packets that arrive twice
    reorder: float = 0.0  # share of the packets that are not delayed, and so overtake others
    rate: int = 0  # bytes a second; 0: as many as there are

    def __post_init__(self) -> None:
        """Refuse what no link does."""
        self._shape(0)

    def inject(self, scene: Scene) -> str:
        """Shape their links."""
        names = scene.nodes(self.target)
        for name in names:
            scene.links.shape(name, self._shape(scene.site.seed), by=scene)
        return ", ".join(names)

    def _shape(self, seed: int) -> Shape:
        said = msgspec.structs.asdict(self)
        del said["target"]
        return Shape(**said, seed=seed)
