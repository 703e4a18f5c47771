"""A node that the servers forget."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.target import Target


class PurgeNode(Fault, frozen=True):
    """The servers forget a client, as by `PUT /v1/node/:id/purge`, whatever runs on it.

    A client that lives may register again by itself, and one that has crashed does when it is booted. Healed
    by restarting its agent where the servers do not know it, and waiting until they hold it for ready.
    """

    needs = frozenset({Capability.AGENTS})

    target: Target

    def inject(self, scene: Scene) -> str:
        """Purge it."""
        name = scene.node(self.target)
        scene.cluster.api().put(f"node/{scene.cluster.agents.id_of(name)}/purge")
        return name

    def heal(self, scene: Scene) -> None:
        """Have it register."""
        known = scene.cluster.agents.known()
        hit = [node.spec.name for node in scene.clients_hit()]
        for name in hit:
            if name not in known:
                scene.cluster.agents.restart(name)
        if hit:
            scene.cluster.agents.wait_known(*hit)
