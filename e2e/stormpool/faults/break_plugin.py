"""A plugin that cannot be started again."""

from __future__ import annotations

from msgspec import structs

from stormpool.capability import Capability
from stormpool.faults import builds, task
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target

ENDS_AT_ONCE = ("/bin/false",)


class BreakPlugin(Fault, frozen=True):
    """A plugin that its agent starts itself is killed on a node, and what stands in its place ends at once,
    as after an upgrade that went wrong.

    Healed by the lab's own in its place; an agent that starts it no more is restarted.
    """

    needs = frozenset({Capability.AGENTS})

    plugin: str
    target: Target

    def inject(self, scene: Scene) -> str:
        """Put that there, and kill the one that runs."""
        own, name = builds.own(scene, self.plugin), scene.node(self.target)
        builds.replace(scene, name, structs.replace(own, argv=ENDS_AT_ONCE))
        return name

    def heal(self, scene: Scene) -> None:
        """Put the lab's own back."""
        own = builds.own(scene, self.plugin)
        for node in scene.clients_hit():
            scene.site.install(own, node.spec.name)
            if not task.plugins(scene, node.spec.name, self.plugin):
                scene.cluster.agents.restart(node.spec.name)
