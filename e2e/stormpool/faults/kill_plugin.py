"""A plugin that is killed."""

from __future__ import annotations

from stormpool.errors import MachineError
from stormpool.faults import task
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target, serving

SERVING = serving()


class KillPlugin(Fault, frozen=True):
    """SIGKILL to the plugin, on the node that serves the call or on another. Its agent starts it again.

    Of a CSI plugin the first process of its task; of one that agents start themselves, `plugin`, the one
    process that is no executor.
    """

    target: Target = SERVING
    plugin: str = ""  # that of the call when empty; a CSI plugin where there is none

    def inject(self, scene: Scene) -> str:
        """Kill it."""
        name = scene.node(self.target)
        found = {seen.pid: seen for seen in task.plugins(scene, name, self.plugin)}
        first = [pid for pid, seen in found.items() if seen.parent not in found]
        if not first:
            raise MachineError(f"no plugin runs on {name}")
        scene.site.nodes[name].run(["kill", "-KILL", *map(str, first)])
        return name
