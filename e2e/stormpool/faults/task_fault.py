"""What every fault of what an agent keeps beside a task has in common."""

from __future__ import annotations

from stormpool.faults.fault import Fault
from stormpool.target import Target, serving

SERVING = serving()


class TaskFault(Fault, frozen=True):
    """It is about the task of a job, or that which holds a volume; about a node's CSI plugin when neither."""

    volume: str = ""
    target: Target = SERVING
    job: str = ""

    def aims(self) -> tuple[Target, ...]:
        """Nothing but where the task is that is named."""
        return () if self.volume or self.job else (self.target,)
