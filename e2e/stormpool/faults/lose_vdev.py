"""A disk that is lost, and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from stormpool import pools
from stormpool.errors import MachineError
from stormpool.faults.fault import Fault
from stormpool.node import Node
from stormpool.pools import POOL
from stormpool.scene import Scene
from stormpool.target import Target
from stormpool.wait import wait_until

OTHER = "other-half"
RESILVERED_WITHIN = 30.0  # seconds; 0.1 for a pool with a few MiB in it


class LoseVdev(Fault, frozen=True):
    """A node's own pool loses the disk it is on: it is made half of a mirror first, then taken offline.

    The pool goes on, degraded, on the other half, which is a new file, or the node's second disk. Healed by
    taking the disk online, waiting until it is resilvered, and detaching the other half.
    """

    once: ClassVar[bool] = True

    target: Target

    def inject(self, scene: Scene) -> str:
        """Mirror it and take it offline."""
        node = scene.site.nodes[scene.node(self.target)]
        own, other = node.vdev(POOL), pools.add_vdev(node, OTHER)
        node.run(["zpool", "attach", "-f", POOL, own, other])
        _once_resilvered(node, "offline", own)
        return f"{own} of {node.spec.name}"

    def heal(self, scene: Scene) -> None:
        """Take it online, and the pool as it was. Raises `MachineError` while the node is down."""
        if down := [name for name in scene.hit if not scene.site.nodes[name].up]:
            raise MachineError(f"{', '.join(down)} is down: its disk comes back once it is up")
        for node in scene.clients_hit():
            own, other = node.vdev(POOL), node.vdev(OTHER)
            if Path(other).name in pools.status(node, POOL):
                node.run(["zpool", "online", POOL, own])
                _once_resilvered(node, "detach", other)
            pools.remove_vdev(node, OTHER)


def _once_resilvered(node: Node, act: str, disk: str) -> None:
    """Do something with one half of the mirror once the other has everything.

    OpenZFS begins to resilver some time after it is asked to, and refuses until the other half is whole.
    """

    def done() -> bool:
        going_on = "resilver in progress" in pools.status(node, POOL)
        return not going_on and node.run(["zpool", act, POOL, disk], check=False).code == 0

    wait_until(
        f"{disk} of {node.spec.name} is not needed any more: zpool {act}", done, timeout=RESILVERED_WITHIN
    )
