"""An agent that is upgraded or downgraded in place."""

from __future__ import annotations

from stormpool.agents import build
from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class ChangeAgent(Fault, frozen=True):
    """A node's agent is ended (SIGTERM) and another version's is started on the same data; tasks live on.

    `version` is one that can be built, or the path of a program; it is had before anything is broken. Healed
    by the lab's own program, in the same way, unless it is `for_good`. An agent may be unable to read what a
    later one wrote: then it ends at once, and healing fails with what it said.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target
    version: str
    for_good: bool = False

    def prepare(self) -> None:
        """Build the program, unless it is there."""
        build.resolve(self.version)

    def inject(self, scene: Scene) -> str:
        """Change it."""
        name = scene.node(self.target)
        scene.cluster.agents.restart(name, build.resolve(self.version))
        return name

    def heal(self, scene: Scene) -> None:
        """Run the lab's own program there, or at least start the agent, unless it runs."""
        if not self.for_good:
            scene.cluster.agents.change_back(*scene.hit)
        scene.cluster.agents.revive(*scene.hit)
