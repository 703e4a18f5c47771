"""A garbage collection that is forced."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class CollectGarbage(Fault, frozen=True):
    """The servers collect garbage at once, as by `nomad system gc`: what has ended, and its claims."""

    needs = frozenset({Capability.AGENTS})

    def inject(self, scene: Scene) -> str:
        """Ask for it."""
        scene.cluster.api().put("system/gc")
        return "servers"
