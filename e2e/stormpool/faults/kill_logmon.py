"""A logmon that is killed."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults import task
from stormpool.faults.task_fault import TaskFault
from stormpool.scene import Scene


class KillLogmon(TaskFault, frozen=True):
    """SIGKILL to the logmons of the allocation that holds a volume; of the plugin on a node when none is
    named.

    What the task prints is read by nobody then, and a task that prints much waits; its agent starts no other
    while it runs itself. Healed by restarting the agent of the node, if tasks have none there.
    """

    needs = frozenset({Capability.AGENTS})

    def inject(self, scene: Scene) -> str:
        """Kill them."""
        name, pids = task.logmons(scene, self)
        scene.site.nodes[name].run(["kill", "-KILL", *map(str, pids)])
        return name

    def heal(self, scene: Scene) -> None:
        """Have the agent start them."""
        for node in scene.clients_hit():
            if task.without_logmon(scene, node.spec.name):
                scene.cluster.agents.restart(node.spec.name)
