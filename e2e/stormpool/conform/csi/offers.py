"""What a plugin says that it can do: asked once, before the first volume."""

from __future__ import annotations

from dataclasses import dataclass

from stormpool.conform.csi import life
from stormpool.conform.csi.plugin import Plugin, Refused
from stormpool.conform.rule import NotOffered


@dataclass(frozen=True)
class Offers:
    """What a plugin can do."""

    up: tuple[str, ...]  # the calls that bring a volume of it up
    lists: bool  # whether it lists its volumes
    node_id: str
    room: int  # how many volumes its node takes; 0: it does not say

    def must_have(self, method: str) -> None:
        """Raise `NotOffered` where the plugin has not said that it can do this."""
        done = life.done_by(method)
        if done not in self.up:
            raise NotOffered(f"{life.CAPABILITY[done] or 'a node service'} is not offered")

    def must_have_room(self, volumes: int) -> None:
        """Raise `NotOffered` where the node does not take so many volumes."""
        if 0 < self.room < volumes:
            raise NotOffered(f"the node takes {self.room} volumes, not {volumes}")


NOTHING = Offers((), lists=False, node_id="", room=0)


def ask(plugin: Plugin) -> Offers:
    """Ask a plugin that serves."""
    controller, node = _capabilities(plugin, "Controller"), _capabilities(plugin, "Node")
    offered = (controller or frozenset()) | (node or frozenset()) | {""}
    up = tuple(
        method
        for method, capability in life.CAPABILITY.items()
        if capability in offered and (node is not None or not method.startswith("Node"))
    )
    if node is None:
        return Offers(up, "LIST_VOLUMES" in offered, "", 0)
    said = plugin.call("NodeGetInfo", plugin.pb.NodeGetInfoRequest())
    return Offers(up, "LIST_VOLUMES" in offered, said.node_id, said.max_volumes_per_node)


def _capabilities(plugin: Plugin, service: str) -> frozenset[str] | None:
    """What a service says it can do; None where it is not served."""
    method = f"{service}GetCapabilities"
    try:
        answer = plugin.call(method, getattr(plugin.pb, f"{method}Request")())
    except Refused as refused:
        if refused.code == "UNIMPLEMENTED":
            return None
        raise
    kinds = getattr(plugin.pb, f"{service}ServiceCapability").RPC.Type
    names = {number: name for name, number in kinds.items()}
    return frozenset(names.get(each.rpc.type, "") for each in answer.capabilities)
