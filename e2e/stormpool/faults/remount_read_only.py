"""A file system that is read-only for a while."""

from __future__ import annotations

from stormpool import datasets
from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class RemountReadOnly(Fault, frozen=True):
    """A volume's dataset is set read-only (`zfs set readonly=on`): opening a file to write fails with EROFS.

    It is so at every place it is mounted at, in tasks too. Where zfs-fuse serves it, a file that was open for
    writing goes on being written. Healed by setting it back, on whichever node it is then.
    """

    volume: str

    def inject(self, scene: Scene) -> str:
        """Set it read-only."""
        dataset = datasets.aimed(scene, self.volume)
        dataset.change("readonly", "on")
        return f"{dataset.name} of {dataset.node.spec.name}"

    def heal(self, scene: Scene) -> None:
        """Set it as it was."""
        dataset = datasets.hit(scene, self.volume)
        if dataset is not None:
            dataset.restore("readonly")
