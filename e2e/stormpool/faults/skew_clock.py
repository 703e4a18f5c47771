"""A node whose clock is wrong."""

from __future__ import annotations

import time

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.node import Node
from stormpool.scene import Scene
from stormpool.target import Target


class SkewClock(Fault, frozen=True):
    """A node's wall clock is set, with `date`, so many seconds off that of the harness's host; behind when
    negative.

    Only where a node has a clock of its own: there is no namespace for CLOCK_REALTIME. A time service on the
    node may set it right at any time. Healed by setting the node's clock to the host's.
    """

    needs = frozenset({Capability.CLOCK})

    target: Target
    seconds: float

    def inject(self, scene: Scene) -> str:
        """Set it wrong."""
        name = scene.node(self.target)
        _set(scene.site.nodes[name], self.seconds)
        return name

    def heal(self, scene: Scene) -> None:
        """Set it right."""
        for name in scene.hit:
            _set(scene.site.nodes[name], 0.0)


def _set(node: Node, seconds_off: float) -> None:
    node.run(["date", "--utc", "--set", f"@{time.time() + seconds_off:.6f}"])
