"""A pool that is full."""

from __future__ import annotations

from stormpool import datasets
from stormpool.faults.fault import Fault
from stormpool.scene import Scene


class FillPool(Fault, frozen=True):
    """The pool that a volume is in is filled by a file, to the last block: whoever writes gets ENOSPC.

    That is the pool of an attach volume on its holder; of a dataset, the node's, with all its other volumes.
    Healed by removing the file, on whichever node the pool is then. From a pool that no node has imported it
    cannot be removed, and healing fails.
    """

    volume: str

    def inject(self, scene: Scene) -> str:
        """Fill it."""
        pool = datasets.aimed(scene, self.volume).pool
        pool.fill()
        return f"{pool.name} of {pool.node.spec.name}"

    def heal(self, scene: Scene) -> None:
        """Remove the file."""
        dataset = datasets.hit(scene, self.volume)
        if dataset is not None:
            dataset.pool.empty()
