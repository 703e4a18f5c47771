"""An executor that is killed."""

from __future__ import annotations

from stormpool.faults import task
from stormpool.faults.task_fault import TaskFault
from stormpool.scene import Scene


class KillExecutor(TaskFault, frozen=True):
    """SIGKILL to the executor of the task that holds a volume; of the plugin on a node when none is named.

    Its agent holds the task for dead, and what the task's job says of a failed task happens. But the task
    lives on, seen by no agent any more. Healed by SIGKILL to every task of the node whose parent is gone.
    """

    def inject(self, scene: Scene) -> str:
        """Kill it."""
        name, pids = task.executors(scene, self)
        scene.site.nodes[name].run(["kill", "-KILL", *map(str, pids)])
        return name

    def heal(self, scene: Scene) -> None:
        """End the tasks that no executor looks after."""
        task.end_orphans(scene)
