"""A node whose kernel panics."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class PanicNode(Fault, frozen=True):
    """A node's kernel panics (sysrq), and the node stays as it is then, silent, until its power is cut.

    Its disk stays. Healed by booting it: its pool is imported, its agent started with the data it had.
    """

    needs = frozenset({Capability.PANIC, Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Have it panic."""
        names = scene.nodes(self.target)
        for name in names:
            scene.site.crash(name, panic=True)
        return ", ".join(names)

    def heal(self, scene: Scene) -> None:
        """Boot what is down of it."""
        scene.cluster.boot(*scene.hit)
