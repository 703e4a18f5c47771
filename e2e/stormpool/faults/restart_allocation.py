"""An allocation whose tasks are restarted."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.faults.stop_allocation import holding
from stormpool.scene import Scene


class RestartAllocation(Fault, frozen=True):
    """The tasks of the allocation that holds a volume are restarted in place, as by `nomad alloc restart`."""

    needs = frozenset({Capability.AGENTS})

    volume: str

    def inject(self, scene: Scene) -> str:
        """Restart them."""
        alloc = holding(scene, self.volume)
        scene.cluster.api().put(f"client/allocation/{alloc}/restart", {})
        return alloc
