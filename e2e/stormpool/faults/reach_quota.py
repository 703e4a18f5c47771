"""A dataset whose quota is reached."""

from __future__ import annotations

from stormpool import datasets
from stormpool.faults.fault import Fault
from stormpool.scene import Scene

SPARE = 1 << 20  # bytes above what is used, then filled; a quota below it is refused


class ReachQuota(Fault, frozen=True):
    """A volume's dataset gets a quota of little more than it uses, and a file fills it: writers get EDQUOT.

    Other volumes of the pool have all the room they had. Healed by removing the file and giving the dataset
    the quota it had, on whichever node it is then.
    """

    volume: str

    def inject(self, scene: Scene) -> str:
        """Lower the quota and reach it."""
        dataset = datasets.aimed(scene, self.volume)
        dataset.change("quota", str(int(dataset.get("used")) + SPARE))
        dataset.fill()
        return f"{dataset.name} of {dataset.node.spec.name}"

    def heal(self, scene: Scene) -> None:
        """Remove the file and raise the quota."""
        dataset = datasets.hit(scene, self.volume)
        if dataset is not None:
            dataset.empty()
            dataset.restore("quota")
