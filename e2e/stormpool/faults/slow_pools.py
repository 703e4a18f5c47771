"""Pools that are slow."""

from __future__ import annotations

from typing import ClassVar

from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class SlowPools(Fault, frozen=True):
    """The pools that a node has imported are slow.

    Where a daemon serves ZFS it is stopped and continued in turns (SIGSTOP, SIGCONT). `stopped` and `running`
    are the seconds of each turn: what falls into a stop waits for its end, what is over before the next is as
    fast as ever. Where the kernel does, each read and write of their disks takes `stopped` seconds longer;
    pools that are imported later are not slow then. Healed by leaving them alone.
    """

    once: ClassVar[bool] = True

    target: Target
    stopped: float = 0.2
    running: float = 0.02

    def inject(self, scene: Scene) -> str:
        """Begin to slow them down."""
        node = scene.site.nodes[scene.node(self.target)]
        node.zfs.slow(self.stopped, self.running, scene.site.companions)
        return node.spec.name

    def heal(self, scene: Scene) -> None:
        """Do it no more."""
        for node in scene.clients_hit():
            node.zfs.quicken(scene.site.companions)
