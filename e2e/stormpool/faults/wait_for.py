"""A call that waits for another."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.nemesis import OnCall
from stormpool.scene import Scene


class WaitFor(CallFault, frozen=True):
    """The call goes on once another one has come to a point, or after so many seconds.

    Calls come in an order of one's choosing by it: `on(rpc(A).before, WaitFor(rpc(B).answered))` has the
    plugin get A after B. Counts begin with the workload, as those of triggers do.
    """

    point: OnCall
    at_most: float = 10.0

    def awaits(self) -> tuple[OnCall, ...]:
        """The point."""
        return (self.point,)

    def inject(self, scene: Scene) -> str:
        """Wait. Raises `MachineError` when the point is not reached in time."""
        scene.wait_for(self.point, self.at_most)
        return scene.call().call.id
