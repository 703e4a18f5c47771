"""Two halves that only one node joins."""

from __future__ import annotations

from itertools import product
from random import Random

from stormpool.faults.network_fault import NetworkFault
from stormpool.lab import Role
from stormpool.scene import Scene
from stormpool.target import Target, all, one

ONE = one()


class Bridge(NetworkFault, frozen=True):
    """The nodes of a role, without one, fall in two halves that cannot hear each other; the one hears all.

    The halves are chosen by the run's seed; `role` None takes servers and clients.
    """

    joint: Target = ONE
    role: Role | None = Role.SERVER

    def inject(self, scene: Scene) -> str:
        """Cut the halves apart."""
        joint = scene.node(self.joint)
        names = [name for name in scene.nodes(all(self.role)) if name != joint]
        Random(f"{scene.site.seed} bridge").shuffle(names)
        half = sorted(names[: len(names) // 2])
        other = sorted(names[len(names) // 2 :])
        scene.links.drop([*product(half, other), *product(other, half)], by=scene)
        return f"{', '.join(half)} - {joint} - {', '.join(other)}"
