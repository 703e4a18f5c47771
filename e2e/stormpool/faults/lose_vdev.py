"""A disk that is lost, and comes back."""

from __future__ import annotations

from stormpool import pools
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

    target: Target

    def inject(self, scene: Scene) -> str:
        """Mirror it and take it offline."""
        node = scene.site.nodes[scene.node(self.target)]
        own, other = pools.vdev(node), pools.vdev(node, OTHER)
        if not node.has_zfs:
            node.run(["truncate", f"--reference={own}", other])
        node.run(["zpool", "attach", "-f", POOL, own, other])
        _wait_resilvered(node)
        node.run(["zpool", "offline", POOL, own])
        return f"{own} of {node.spec.name}"

    def heal(self, scene: Scene) -> None:
        """Take it online, and the pool as it was."""
        for node in scene.clients_hit():
            own, other = pools.vdev(node), pools.vdev(node, OTHER)
            if other in pools.status(node, POOL):
                node.run(["zpool", "online", POOL, own])
                _wait_resilvered(node)
                node.run(["zpool", "detach", POOL, other])
            if not node.has_zfs:
                node.run(["rm", "-f", other])


def _wait_resilvered(node: Node) -> None:
    wait_until(
        f"{POOL} of {node.spec.name} is resilvered",
        lambda: pools.status(node, POOL),
        lambda said: "resilver in progress" not in said,
        timeout=RESILVERED_WITHIN,
    )
