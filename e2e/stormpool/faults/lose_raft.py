"""A server that comes back with an empty disk."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class LoseRaft(Fault, frozen=True):
    """A server's agent is killed, its raft log and the votes it gave are lost, and it is started again.

    Raft needs both on stable storage (Ongaro and Ousterhout, figure 2): such a server may vote twice in a
    term, and a majority of such may lose what was committed. It need not answer yet when that is injected.
    Healed by starting the agent, where it does not run; what is lost stays lost, but for what a leader sends.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Kill it, empty its disk, start it."""
        name = scene.node(self.target)
        cluster = scene.cluster
        cluster.agents.kill(name)
        cluster.nodes[name].run(["rm", "-r", f"{cluster.lab.data_dir}/server/raft"])
        cluster.agents.start_agent(cluster.nodes[name])
        return name

    def heal(self, scene: Scene) -> None:
        """Start it, unless it runs."""
        scene.cluster.agents.revive(*scene.hit)
