"""What every fault is: a frozen value that can be injected, and healed as often as one likes."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import msgspec

from stormpool.capability import Capability
from stormpool.errors import Misuse
from stormpool.nemesis import OnCall, Phase, Trigger
from stormpool.scene import Scene
from stormpool.target import Aim, Target


class Fault(msgspec.Struct, frozen=True, tag=True):
    """Something that can be broken, and mended."""

    needs: ClassVar[frozenset[Capability]] = frozenset()
    phases: ClassVar[tuple[Phase, ...]] = tuple(Phase)  # of a call, at which it does something of its own
    once: ClassVar[bool] = False  # a node that has it cannot have it once more: that fails, and mends nothing
    holds_its_call: ClassVar[bool] = False  # the call that set it off goes on only when it is healed

    def __str__(self) -> str:
        target = getattr(self, "target", "")
        return f"{type(self).__name__}({target})" if target else type(self).__name__

    def check(self, when: Trigger) -> None:
        """Raise `Misuse` for a trigger that it cannot be set off by: where no call is, nobody serves one."""
        if not isinstance(when, OnCall) and any(target.aim is Aim.SERVING for target in self.aims()):
            raise Misuse(
                f"{self} is about the node that serves a call, and none sets it off",
                fix="plan it with nemesis.on(rpc(...), ...), or aim it: target.node(...), target.holder(...)",
            )

    def aims(self) -> tuple[Target, ...]:
        """What it aims at when it is injected."""
        said = (getattr(self, name) for name in self.__struct_fields__)
        return tuple(each for each in said if isinstance(each, Target))

    def awaits(self) -> tuple[OnCall, ...]:
        """The points of other calls it waits for."""
        return ()

    def prepare(self) -> None:
        """Have what it takes and takes long to have, such as a program to build: before anything happens."""

    @abstractmethod
    def inject(self, scene: Scene) -> str:
        """Break it; return what was hit: a node, a call."""

    def heal(self, scene: Scene) -> None:
        """Mend what of it was hit, `scene.hit`; nothing happens when that is whole, or nothing was hit."""
