"""A link that works in one direction."""

from __future__ import annotations

from itertools import product

from stormpool.faults.network_fault import NetworkFault
from stormpool.scene import Scene
from stormpool.target import Target


class OneWay(NetworkFault, frozen=True):
    """What `source` sends does not reach `sink`; what `sink` sends does reach `source`."""

    source: Target
    sink: Target

    def inject(self, scene: Scene) -> str:
        """Cut the one direction."""
        source, sink = scene.nodes(self.source), scene.nodes(self.sink)
        scene.links.drop(product(source, sink), by=scene)
        return f"{', '.join(source)} -/> {', '.join(sink)}"
