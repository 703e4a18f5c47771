"""Packets between nodes that are dropped: an nftables table in the network namespace of the one they are for.

Dropped before anything in the node sees them and without a word, so that connections stall and are not reset.
"""

from __future__ import annotations

from collections.abc import Sequence

TABLE = "table inet stormpool"


def rules(sources: Sequence[str]) -> str:
    """What `nft -f` is to do, at once: drop packets from these addresses and from no others."""
    lines = [f"add {TABLE}", f"delete {TABLE}"]  # deleting what is not there is an error
    if sources:
        lines += [
            f"{TABLE} {{",
            "  chain dropped {",
            "    type filter hook prerouting priority raw; policy accept",
            f"    ip saddr {{ {', '.join(sources)} }} drop",
            "  }",
            "}",
        ]
    return "\n".join(lines) + "\n"
