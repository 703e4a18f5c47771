"""An executor that stops for a while."""

from __future__ import annotations

from stormpool.faults import task
from stormpool.faults.task_fault import TaskFault
from stormpool.scene import Scene


class PauseExecutor(TaskFault, frozen=True):
    """SIGSTOP to the executor of the task that holds a volume; of the plugin on a node when none is named.

    The task goes on, and its agent can neither ask after it nor end it. Healed by SIGCONT.
    """

    def inject(self, scene: Scene) -> str:
        """Stop it."""
        name, pids = task.executors(scene, self)
        task.pause(scene, name, pids)
        return name

    def heal(self, scene: Scene) -> None:
        """Let those of the node go on."""
        task.let_go_on(scene, lambda seen: seen.is_executor)
