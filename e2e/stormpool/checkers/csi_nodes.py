"""Which node a call is about: a plugin names its nodes as it likes (CSI spec, NodeGetInfo)."""

from __future__ import annotations

from stormpool.events import Call, Reply
from stormpool.history import History

Names = dict[tuple[str, str], str]  # plugin, CSI node id → node


def csi_nodes(history: History) -> Names:
    """The node of each CSI node id, as each plugin told it."""
    return {
        (rpc.call.plugin, rpc.end.result["node_id"]): rpc.call.node
        for rpc in history.rpcs({"NodeGetInfo"})
        if isinstance(rpc.end, Reply) and rpc.ok and "node_id" in rpc.end.result
    }


def node_of(call: Call, names: Names) -> str:
    """The node that a call is about: of a controller call the one it names, else the plugin's own."""
    return names.get((call.plugin, call.target), call.target) or call.node
