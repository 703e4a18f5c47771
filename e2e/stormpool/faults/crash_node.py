"""A node that loses its power."""

from __future__ import annotations

from typing import ClassVar

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class CrashNode(Fault, frozen=True):
    """Everything on a node ends at once, and nobody hears it: agent, plugins, tasks, pools, mounts.

    Its disk stays. Healed by booting it: its pool is imported, its agent started with the data it had.
    """

    needs = frozenset({Capability.CRASH, Capability.AGENTS})

    panics: ClassVar[bool] = False  # its kernel, first

    target: Target

    def inject(self, scene: Scene) -> str:
        """Cut the power."""
        names = scene.nodes(self.target)
        for name in names:
            scene.site.crash(name, panic=self.panics)
        return ", ".join(names)

    def heal(self, scene: Scene) -> None:
        """Boot what is down of it."""
        scene.cluster.boot(*scene.hit)
