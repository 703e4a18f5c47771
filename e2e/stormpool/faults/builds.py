"""What stands on a node in the place of a plugin that its agent starts itself."""

from __future__ import annotations

from stormpool.errors import MachineError, Misuse
from stormpool.faults import task
from stormpool.lab import ExternalPlugin
from stormpool.scene import Scene


def own(scene: Scene, plugin: str) -> ExternalPlugin:
    """The lab's own. Raises `Misuse` when its agents start none of that name."""
    plugins = {each.id: each for each in scene.site.lab.external_plugins}
    if plugin not in plugins:
        named = ", ".join(plugins)
        raise Misuse(f"the lab's agents start no plugin {plugin!r}", fix=f"name one of: {named}")
    return plugins[plugin]


def replace(scene: Scene, name: str, plugin: ExternalPlugin) -> None:
    """Put another build there, and kill the one that runs. Raises `MachineError` when none does."""
    scene.site.install(plugin, name)
    running = task.plugins(scene, name, plugin.id)
    if not running:
        raise MachineError(f"no plugin {plugin.id} runs on {name}")
    scene.site.nodes[name].run(["kill", "-KILL", *(str(each.pid) for each in running)])
