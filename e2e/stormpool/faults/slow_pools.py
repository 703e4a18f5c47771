"""Pools that are slow."""

from __future__ import annotations

from stormpool import disks, pools
from stormpool.faults.fault import Fault
from stormpool.node import Node
from stormpool.scene import Scene
from stormpool.target import Target

COMPANION = "slow-pools"


class SlowPools(Fault, frozen=True):
    """All pools of a node are slow.

    Where a daemon serves ZFS it is stopped and continued in turns (SIGSTOP, SIGCONT). `stopped` and `running`
    are the seconds of each turn: what falls into a stop waits for its end, what is over before the next is as
    fast as ever. Where the kernel does, each read and write of their disks takes `stopped` seconds longer.
    Healed by leaving them alone.
    """

    target: Target
    stopped: float = 0.2
    running: float = 0.02

    def inject(self, scene: Scene) -> str:
        """Begin to slow them down."""
        node = scene.site.nodes[scene.node(self.target)]
        if node.zfs_in_kernel:
            for disk in _disks(node):
                disks.slow(node, disk, self.stopped)
        else:
            daemon = pools.daemon_of(node)
            scene.site.companions.stutter(node, COMPANION, daemon, self.stopped, self.running)
        return node.spec.name

    def heal(self, scene: Scene) -> None:
        """Do it no more."""
        for node in scene.clients_hit():
            if node.zfs_in_kernel:
                for disk in _disks(node):
                    disks.mend(node, disk)
            else:
                scene.site.companions.end(node, COMPANION)
                node.run(["kill", "-CONT", str(pools.daemon_of(node))])


def _disks(node: Node) -> list[str]:
    """The disks of all pools of a node."""
    return [disk for pool in pools.imported(node) for disk in disks.of(node, pool)]
