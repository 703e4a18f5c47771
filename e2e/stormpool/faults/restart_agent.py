"""An agent that is restarted."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class RestartAgent(Fault, frozen=True):
    """SIGTERM to a node's agent, as when its service is restarted, and a start; tasks live on.

    It has ended by itself before it is started, and answers when the fault is injected.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Restart it."""
        name = scene.node(self.target)
        scene.cluster.agents.restart(name)
        return name

    def heal(self, scene: Scene) -> None:
        """Start it, unless it runs."""
        scene.cluster.agents.revive(*scene.hit)
