"""An agent that is killed."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class KillAgent(Fault, frozen=True):
    """SIGKILL to a node's agent; tasks and executors live on, as they do. Healed by starting it again."""

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Kill it."""
        name = scene.node(self.target)
        scene.cluster.agents.kill(name)
        return name

    def heal(self, scene: Scene) -> None:
        """Start it, unless it runs."""
        scene.cluster.agents.revive(*scene.hit)
