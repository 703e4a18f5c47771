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
        if not self._signal(scene, name, "STOP"):
            raise MachineError(f"no plugin runs on {name}")
        return name

    def heal(self, scene: Scene) -> None:
        """Let it go on."""
        for node in scene.clients_hit():
            self._signal(scene, node.spec.name, "CONT")

    def _signal(self, scene: Scene, name: str, word: str) -> list[int]:
        """Signal the processes of the plugin on a node; returns them."""
        pids = [seen.pid for seen in task.plugins(scene, name, self.plugin)]
        if pids:
            scene.site.nodes[name].run(["kill", f"-{word}", *map(str, pids)], check=False)  # one may end
        return pids
