"""A plugin that is replaced by another build of itself."""

from __future__ import annotations

from msgspec import structs

from stormpool.errors import MachineError, Misuse
from stormpool.faults import task
from stormpool.faults.fault import Fault
from stormpool.lab import ExternalPlugin
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
        own, name = self._own(scene), scene.node(self.target)
        self._replace(scene, name, structs.replace(own, env={**own.env, **dict(self.env)}))
        return name

    def heal(self, scene: Scene) -> None:
        """Put the lab's own back."""
        for node in scene.clients_hit():
            self._replace(scene, node.spec.name, self._own(scene))

    def _replace(self, scene: Scene, name: str, plugin: ExternalPlugin) -> None:
        scene.site.install(plugin, name)
        running = task.plugins(scene, name, self.plugin)
        if not running:
            raise MachineError(f"no plugin {self.plugin} runs on {name}")
        scene.site.nodes[name].run(["kill", "-KILL", *(str(each.pid) for each in running)])

    def _own(self, scene: Scene) -> ExternalPlugin:
        plugins = {each.id: each for each in scene.site.lab.external_plugins}
        if self.plugin not in plugins:
            named = ", ".join(plugins)
            raise Misuse(f"the lab's agents start no plugin {self.plugin!r}", fix=f"name one of: {named}")
        return plugins[self.plugin]
