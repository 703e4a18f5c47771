"""An agent that stops for a while."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class PauseAgent(Fault, frozen=True):
    """SIGSTOP to a node's agent: it keeps its connections and says nothing. Healed by SIGCONT."""

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Stop it."""
        name = scene.node(self.target)
        scene.cluster.agents.pause(name)
        return name

    def heal(self, scene: Scene) -> None:
        """Let it go on."""
        scene.cluster.agents.resume(*scene.hit)
