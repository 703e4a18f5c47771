"""A plugin that is replaced by another build of itself."""

from __future__ import annotations

from msgspec import structs

from stormpool.faults import builds
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class UpgradePlugin(Fault, frozen=True):
    """Another build stands in a plugin's place on a node, and the one that runs is killed: its agent starts
    the other, over the tasks that the first had started.

    `env`: what the other is given in its environment beside what the lab gives; names and values. Healed by
    the lab's own in its place, in the same way.
    """

    plugin: str
    target: Target
    env: tuple[tuple[str, str], ...]

    def inject(self, scene: Scene) -> str:
        """Put it there, and kill the one that runs."""
        own, name = builds.own(scene, self.plugin), scene.node(self.target)
        builds.replace(scene, name, structs.replace(own, env={**own.env, **dict(self.env)}))
        return name

    def heal(self, scene: Scene) -> None:
        """Put the lab's own back."""
        for node in scene.clients_hit():
            builds.replace(scene, node.spec.name, builds.own(scene, self.plugin))
