"""A node that is alone."""

from __future__ import annotations

from itertools import product

from stormpool.faults.network_fault import NetworkFault
from stormpool.scene import Scene
from stormpool.target import Target


class Isolate(NetworkFault, frozen=True):
    """No packet passes between a node and any other; of several nodes, each is alone."""

    target: Target

    def inject(self, scene: Scene) -> str:
        """Cut them off."""
        names = scene.nodes(self.target)
        every = tuple(scene.site.nodes)
        scene.links.drop([*product(names, every), *product(every, names)], by=scene)
        return ", ".join(names)
