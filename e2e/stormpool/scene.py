"""Where a fault happens: the cluster, and the call that set it off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stormpool.agents.books import claims_of
from stormpool.errors import MachineError, Misuse
from stormpool.lab import Role
from stormpool.target import Aim, Target

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.conductor import Reached
    from stormpool.tap.collector import HeldCall


@dataclass(frozen=True)
class Scene:
    """What a fault acts on."""

    cluster: Cluster
    reached: Reached
    held: HeldCall | None = None

    def call(self) -> HeldCall:
        """The call that set the fault off. Raises `Misuse` when none did."""
        if self.held is None:
            raise Misuse(
                "this fault is about a call, and none set it off",
                fix="plan it with nemesis.on(rpc(...), ...)",
            )
        return self.held

    def node(self, target: Target) -> str:
        """The name of the node that is meant, now. Raises `MachineError` when there is none."""
        match target.aim:
            case Aim.NAMED:
                return target.name
            case Aim.LEADER:
                return self._leader()
            case Aim.FOLLOWER:
                leader = self._leader()
                return next(name for name in self.cluster.lab.names(Role.SERVER) if name != leader)
            case Aim.HOLDER:
                return self._holder(target.name)
            case Aim.SERVING:
                return self.call().call.node

    def _leader(self) -> str:
        address = str(self.cluster.ask("status/leader")).partition(":")[0]
        for name, node in self.cluster.nodes.items():
            if node.address == address:
                return name
        raise MachineError("no server leads")

    def _holder(self, volume: str) -> str:
        claims = claims_of(self.cluster.ask(f"volume/csi/{volume}"))
        if not claims:
            raise MachineError(f"nobody holds volume {volume}")
        return str(self.cluster.ask(f"allocation/{claims[0]}")["NodeName"])
