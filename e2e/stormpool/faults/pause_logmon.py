"""A logmon that stops for a while."""

from __future__ import annotations

from stormpool.faults import task
from stormpool.faults.task_fault import TaskFault
from stormpool.scene import Scene


class PauseLogmon(TaskFault, frozen=True):
    """SIGSTOP to the logmons of the allocation that holds a volume; of the plugin on a node when none is
    named.

    A task that prints much waits. Healed by SIGCONT.
    """

    def inject(self, scene: Scene) -> str:
        """Stop them."""
        name, pids = task.logmons(scene, self)
        task.pause(scene, name, pids)
        return name

    def heal(self, scene: Scene) -> None:
        """Let those of the node go on."""
        task.let_go_on(scene, lambda seen: seen.is_logmon)
