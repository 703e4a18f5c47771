"""A mount that is busy."""

from __future__ import annotations

from typing import ClassVar

from stormpool import datasets
from stormpool.errors import MachineError
from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class OccupyMount(Fault, frozen=True):
    """A process of the harness keeps open every directory that a volume is mounted at, on its holder.

    They cannot be unmounted (EBUSY), nor can the volume's pool be exported. What is mounted later is free.
    Healed by ending the process.
    """

    once: ClassVar[bool] = True

    volume: str

    def inject(self, scene: Scene) -> str:
        """Begin."""
        dataset = datasets.aimed(scene, self.volume)
        name = dataset.node.spec.name
        mounted = [mount.target for mount in scene.site.look(name).mounts if mount.source == dataset.name]
        if not mounted:
            raise MachineError(f"volume {self.volume} is not mounted on {name}")
        scene.site.companions.occupy(dataset.node, self._companion(), sorted(mounted))
        return f"{', '.join(sorted(mounted))} on {name}"

    def heal(self, scene: Scene) -> None:
        """End it."""
        for node in scene.clients_hit():
            scene.site.companions.end(node, self._companion())

    def _companion(self) -> str:
        return f"occupy-{self.volume}"
