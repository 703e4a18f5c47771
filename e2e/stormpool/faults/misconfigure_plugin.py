"""A plugin whose configuration is broken."""

from __future__ import annotations

import msgspec

from stormpool.capability import Capability
from stormpool.errors import Misuse
from stormpool.faults.fault import Fault
from stormpool.lab import CsiPlugin
from stormpool.scene import Scene


class MisconfigurePlugin(Fault, frozen=True):
    """A plugin's jobs are registered with another command, as by a wrong deployment: `false` ends at once,
    `sleep inf` never listens, a path that is not there cannot be started. Tasks with volumes live on.

    Healed by the lab's own configuration; every instance is a new one then.
    """

    needs = frozenset({Capability.AGENTS})

    plugin: str
    argv: tuple[str, ...]

    def inject(self, scene: Scene) -> str:
        """Register the broken configuration."""
        own = self._own(scene)
        scene.aim_at(self.plugin)
        scene.cluster.deploy(msgspec.structs.replace(own, argv=self.argv))
        return self.plugin

    def heal(self, scene: Scene) -> None:
        """Register the right one; it is as it was where it already is."""
        if self.plugin in scene.hit:
            scene.cluster.deploy(self._own(scene))

    def _own(self, scene: Scene) -> CsiPlugin:
        plugins = {each.id: each for each in scene.site.lab.csi_plugins}
        if self.plugin not in plugins:
            raise Misuse(f"the lab has no plugin {self.plugin!r}", fix=f"name one of: {', '.join(plugins)}")
        return plugins[self.plugin]
