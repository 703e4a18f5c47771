"""ZFS served by a node's kernel: OpenZFS, on disks of device-mapper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stormpool.errors import MachineError
from stormpool.zfs import disks

if TYPE_CHECKING:
    from stormpool.companions import Companions
    from stormpool.node import Node


class KernelZfs:
    """A node's kernel, as what serves its pools."""

    in_kernel = True

    def __init__(self, node: Node) -> None:
        self._node = node

    def serve(self, log: Path) -> None:
        """Nothing to do: it does, and has imported at boot what it knew."""

    def refuse_writes(self, pool: str) -> None:
        """Have every write to the disks of a pool fail."""
        for disk in disks.of(self._node, pool):
            disks.fail_writes(self._node, disk)

    def take_writes(self, pool: str) -> None:
        """Undo `refuse_writes`."""
        for disk in disks.of(self._node, pool):
            disks.mend(self._node, disk, disks.FLAKEY)

    def slow(
        self,
        stopped: float,
        running: float,  # noqa: ARG002 - there are no turns
        companions: Companions,  # noqa: ARG002 - a disk needs no help
    ) -> None:
        """Each read and write takes so much longer. Raises `MachineError` where no pool is imported."""
        found = disks.of(self._node)
        if not found:
            raise MachineError(f"{self._node.spec.name} has no pool imported that could be slow")
        for disk in found:
            disks.slow(self._node, disk, stopped)

    def quicken(self, companions: Companions) -> None:  # noqa: ARG002 - a disk needs no help
        """Undo `slow`."""
        for disk in disks.slowed(self._node):
            disks.mend(self._node, disk, disks.DELAY)
