"""A node on which nothing is placed."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class MakeIneligible(Fault, frozen=True):
    """The scheduler places nothing on a client any more; what runs there stays.

    Healed by making it eligible.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Make it so."""
        name = scene.node(self.target)
        _set(scene, scene.cluster.agents.id_of(name), "ineligible")
        return name

    def heal(self, scene: Scene) -> None:
        """Make it eligible, unless a drain keeps it from being so."""
        for seen in scene.cluster.ask("nodes"):
            ineligible = seen["SchedulingEligibility"] != "eligible"
            if seen["Name"] in scene.hit and ineligible and not seen["Drain"]:
                _set(scene, seen["ID"], "eligible")


def _set(scene: Scene, node: str, to: str) -> None:
    scene.cluster.api().put(f"node/{node}/eligibility", {"NodeID": node, "Eligibility": to})
