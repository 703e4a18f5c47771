"""A plugin that is restarted."""

from __future__ import annotations

from stormpool.errors import MachineError
from stormpool.faults import task
from stormpool.faults.fault import Fault
from stormpool.plugins.csi import PLUGIN_TASK
from stormpool.scene import Scene
from stormpool.target import Target, serving

SERVING = serving()


class RestartPlugin(Fault, frozen=True):
    """The agent is told to restart the plugin's task, on the node that serves the call or on another.

    It ends as its job says (SIGINT, then SIGKILL after 5 s), and is started again.
    """

    target: Target = SERVING

    def inject(self, scene: Scene) -> str:
        """Ask for it."""
        name = scene.node(self.target)
        allocs = {seen.alloc for seen in task.plugins(scene, name)}
        if not allocs:
            raise MachineError(f"no plugin runs on {name}")
        for alloc in sorted(allocs):
            scene.cluster.api(name).put(f"client/allocation/{alloc}/restart", {"TaskName": PLUGIN_TASK})
        return name
