"""What every fault of what an agent keeps beside a task has in common."""

from __future__ import annotations

from stormpool.faults.fault import Fault
from stormpool.target import Target, serving

SERVING = serving()


class TaskFault(Fault, frozen=True):
    """It is about the task that holds a volume; about the plugin on a node when none is named."""

    volume: str = ""
    target: Target = SERVING

    def aims(self) -> tuple[Target, ...]:
        """Nothing but the volume's holder where a volume is named."""
        return () if self.volume else (self.target,)
