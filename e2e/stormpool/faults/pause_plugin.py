"""A plugin that stops for a while."""

from __future__ import annotations

from stormpool.errors import MachineError
from stormpool.faults import task
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target, serving

SERVING = serving()


class PausePlugin(Fault, frozen=True):
    """SIGSTOP to the plugin, on the node that serves the call or on another: calls to it wait.

    Healed by SIGCONT.
    """

    target: Target = SERVING
    plugin: str = ""  # that of the call when empty; a CSI plugin where there is none

    def inject(self, scene: Scene) -> str:
        """Stop it."""
        name = scene.node(self.target)
        pids = self._pids(scene, name)
        if not pids:
            raise MachineError(f"no plugin runs on {name}")
        task.pause(scene, name, pids)
        return name

    def heal(self, scene: Scene) -> None:
        """Let it go on."""
        for node in scene.clients_hit():
            pids = self._pids(scene, node.spec.name)
            if pids:
                node.run(["kill", "-CONT", *map(str, pids)], check=False)  # one may end

    def _pids(self, scene: Scene, name: str) -> list[int]:
        return [seen.pid for seen in task.plugins(scene, name, self.plugin)]
