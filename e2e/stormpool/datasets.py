"""Where the files of a volume are: a dataset of a pool that a node has imported, and its properties."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stormpool.errors import CommandFailed, MachineError
from stormpool.node import Node
from stormpool.pools import POOL

if TYPE_CHECKING:
    from stormpool.scene import Scene

FILLED_WITHIN = 300.0  # seconds; an emulated machine under load writes about a MiB in one
FILLING = ".stormpool-filling"
NONE = "-"  # what `zfs get` says of a property that is not there


@dataclass(frozen=True)
class Dataset:
    """A dataset on a node."""

    node: Node
    name: str

    @property
    def pool(self) -> Dataset:
        """The topmost dataset of the pool it is in."""
        return Dataset(self.node, self.name.partition("/")[0])

    def get(self, name: str) -> str:
        """A property, numbers to the last digit."""
        argv = ["zfs", "get", "-H", "-p", "-o", "value", name, self.name]
        return self.node.run(argv).stdout.strip()

    def find(self, name: str) -> str:
        """The same, "-" where there is no such dataset.

        Raises `CommandFailed` where ZFS does not say, as of a pool that is suspended.
        """
        try:
            return self.get(name)
        except CommandFailed as failed:
            if "does not exist" in failed.stderr:
                return NONE
            raise

    def set(self, name: str, value: str) -> None:
        """Set a property."""
        self.node.run(["zfs", "set", f"{name}={value}", self.name])

    def change(self, name: str, value: str) -> None:
        """Set a property; what it was is kept beside it, in a property of the harness."""
        if self.get(_kept(name)) == NONE:
            self.set(_kept(name), self.get(name))
        self.set(name, value)

    def restore(self, name: str) -> None:
        """Set a property that was changed back to what it was; nothing happens to one that was not."""
        was = self.get(_kept(name))
        if was != NONE:
            self.set(name, "none" if was == "0" else was)  # a quota of 0 is refused
            self.forget(_kept(name))

    def forget(self, name: str) -> None:
        """Take a property of the harness away."""
        self.node.run(["zfs", "inherit", name, self.name])

    def fill(self) -> None:
        """Write a file until not one block more can be written."""
        for block in ("64k", "512"):
            # dd ends with 1 when no more can be written, as is wanted; a file's beginning stays.
            into = ["oflag=append", "conv=notrunc", f"of={self._filling()}", f"bs={block}"]
            argv = ["dd", "if=/dev/urandom", *into]
            said = self.node.run(argv, timeout=FILLED_WITHIN, check=False).stderr
            if "No space left" not in said and "quota exceeded" not in said:
                raise MachineError(f"{self.name} could not be filled: {said.strip()}")

    def empty(self) -> None:
        """Remove the file that fills it; nothing happens when there is none."""
        self.node.run(["rm", "-f", self._filling()])

    def _filling(self) -> str:
        where = self.get("mountpoint")
        if where == NONE:
            raise MachineError(f"{self.name} of {self.node.spec.name} is a block device, and holds no file")
        return f"{where}/{FILLING}"


def find(nodes: Iterable[Node], volume: str) -> Dataset:
    """Where a volume of the reference plugin is: a pool of its own, or a dataset of a node's.

    Raises `MachineError` when no node has it.
    """
    for node in nodes:
        names = node.run(["zfs", "list", "-H", "-o", "name", "-t", "filesystem,volume"]).stdout.split()
        for dataset in (volume, f"{POOL}/{volume}"):
            if dataset in names:
                return Dataset(node, dataset)
    raise MachineError(f"no node has volume {volume} in a pool that is imported")


def aimed(scene: Scene, volume: str) -> Dataset:
    """Where a volume is that a fault is about to hit. Raises `MachineError` when no node has it."""
    found = find(scene.clients(), volume)
    scene.aim_at(found.node.spec.name)
    return found


def hit(scene: Scene, volume: str) -> Dataset | None:
    """Where a volume is that a fault may have hit; None for one that it did not find.

    Raises `MachineError` when no node has it any more.
    """
    return find(scene.clients(), volume) if scene.hit else None


def _kept(name: str) -> str:
    return f"stormpool:{name}"
