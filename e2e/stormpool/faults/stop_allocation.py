"""An allocation that is stopped."""

from __future__ import annotations

from stormpool.agents.books import claims_of
from stormpool.capability import Capability
from stormpool.errors import MachineError
from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class StopAllocation(Fault, frozen=True):
    """The allocation that holds a volume is stopped, as by `nomad alloc stop`; its job gets another one."""

    needs = frozenset({Capability.AGENTS})

    volume: str

    def inject(self, scene: Scene) -> str:
        """Stop it."""
        alloc = holding(scene, self.volume)
        scene.cluster.api().put(f"allocation/{alloc}/stop")
        return alloc


def holding(scene: Scene, volume: str) -> str:
    """The allocation that holds a volume. Raises `MachineError` when none does."""
    claims = claims_of(scene.cluster.ask(f"volume/csi/{volume}"))
    if not claims:
        raise MachineError(f"nobody holds volume {volume}")
    return claims[0]
