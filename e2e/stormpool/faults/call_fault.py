"""What becomes of the call that sets a fault off."""

from __future__ import annotations

from typing import ClassVar

from stormpool.errors import Misuse
from stormpool.faults.fault import Fault
from stormpool.nemesis import OnCall, Phase, Trigger


class CallFault(Fault, frozen=True):
    """A fault about its own call, at the phases where it does something of its own.

    Elsewhere it would do nothing, or the same as at one of these: a call refused or lost while the plugin is
    at it only differs in what its caller hears.
    """

    phases: ClassVar[tuple[Phase, ...]] = (Phase.BEFORE, Phase.AFTER)

    def check(self, when: Trigger) -> None:
        """Refuse a trigger without a call, and a phase at which nothing would happen."""
        name = type(self).__name__
        if not isinstance(when, OnCall):
            raise Misuse(
                f"{name} is about a call, and none sets it off", fix="plan it with nemesis.on(rpc(...), ...)"
            )
        if when.phase not in self.phases:
            raise Misuse(
                f"{name} does nothing of its own in phase {when.phase!s} of {when.pattern.method}",
                fix="plan it at: " + ", ".join(map(str, self.phases)),
            )
