"""Pools that are slow."""

from __future__ import annotations

from stormpool import pools
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target

COMPANION = "slow-pools"


class SlowPools(Fault, frozen=True):
    """A node's ZFS daemon is stopped and continued in turns (SIGSTOP, SIGCONT): all its pools are slow.

    `stopped` and `running` are the seconds of each turn: what falls into a stop waits for its end, what is
    over before the next is as fast as ever. Healed by leaving it running.
    """

    target: Target
    stopped: float = 0.2
    running: float = 0.02

    def inject(self, scene: Scene) -> str:
        """Begin to stop it."""
        node = scene.site.nodes[scene.node(self.target)]
        daemon = pools.daemon_of(node)
        scene.site.companions.stutter(node, COMPANION, daemon, self.stopped, self.running)
        return node.spec.name

    def heal(self, scene: Scene) -> None:
        """Stop it no more."""
        for node in scene.clients_hit():
            scene.site.companions.end(node, COMPANION)
            node.run(["kill", "-CONT", str(pools.daemon_of(node))])
