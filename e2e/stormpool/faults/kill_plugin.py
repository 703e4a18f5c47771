"""A plugin that is killed."""

from __future__ import annotations

from stormpool.errors import MachineError
from stormpool.faults.fault import Fault
from stormpool.plugins.csi import PLUGIN_TASK
from stormpool.scene import Scene
from stormpool.target import Target, serving

SERVING = serving()


class KillPlugin(Fault, frozen=True):
    """SIGKILL to the first process of the plugin's task, on the node that serves the call or on another.

    Its agent starts it again.
    """

    target: Target = SERVING

    def inject(self, scene: Scene) -> str:
        """Kill it."""
        name = scene.node(self.target)
        of_task = {seen.pid: seen for seen in scene.cluster.look(name).processes if seen.task == PLUGIN_TASK}
        first = [pid for pid, seen in of_task.items() if seen.parent not in of_task]
        if not first:
            raise MachineError(f"no plugin runs on {name}")
        scene.cluster.nodes[name].run(["kill", "-KILL", *map(str, first)])
        return name
