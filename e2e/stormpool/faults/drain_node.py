"""A node that is drained."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target

SECOND = 10**9  # in the API's unit


class DrainNode(Fault, frozen=True):
    """A client is drained, as by `nomad node drain`: its allocations move away, and none is placed there.

    `deadline`: seconds until those that have not ended are made to. System jobs, plugins among them, end
    last; with `ignore_system_jobs` they stay. Healed by ending the drain and making the client eligible.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target
    deadline: float = 60.0
    ignore_system_jobs: bool = False

    def inject(self, scene: Scene) -> str:
        """Begin to drain it."""
        name = scene.node(self.target)
        asked = {"Deadline": int(self.deadline * SECOND), "IgnoreSystemJobs": self.ignore_system_jobs}
        node = scene.cluster.agents.id_of(name)
        scene.cluster.api().put(f"node/{node}/drain", {"NodeID": node, "DrainSpec": asked})
        return name

    def heal(self, scene: Scene) -> None:
        """End it, whether or not it is over; a drain that is over leaves its node ineligible."""
        for seen in scene.cluster.ask("nodes"):
            if seen["Name"] in scene.hit and (seen["Drain"] or seen["SchedulingEligibility"] != "eligible"):
                whole = {"NodeID": seen["ID"], "DrainSpec": None, "MarkEligible": True}
                scene.cluster.api().put(f"node/{seen['ID']}/drain", whole)
