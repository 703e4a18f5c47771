"""A pool that is taken away from its node."""

from __future__ import annotations

from stormpool import pools
from stormpool.faults.fault import Fault
from stormpool.pools import POOL
from stormpool.scene import Scene
from stormpool.target import Target


class ExportPool(Fault, frozen=True):
    """A node's own pool is exported, as for a move of its disks to another machine: its devices are gone.

    What uses it keeps it: then the fault fails. Healed by importing it.
    """

    target: Target

    def inject(self, scene: Scene) -> str:
        """Export it."""
        name = scene.node(self.target)
        scene.site.nodes[name].run(["zpool", "export", POOL])
        return name

    def heal(self, scene: Scene) -> None:
        """Import it, where it is not there."""
        for node in scene.clients_hit():
            if POOL not in pools.imported(node):
                pools.import_own(node)
