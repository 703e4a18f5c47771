"""What a node shows, by the kernel's word: mounts and processes."""

from __future__ import annotations

import json

from stormpool.node import Node
from stormpool.observe import command


def mounts(node: Node) -> list[str]:
    """Every mount point of a node, as often as something is mounted there."""
    said = node.run(["findmnt", "--json", "--list", "--output", "TARGET"]).stdout
    return [str(each["target"]) for each in json.loads(said)["filesystems"]]


def processes(node: Node, python: str) -> dict[int, str]:
    """Every process of a node but the observer: its argv by its pid."""
    said = node.run(command.observer(python, node)).stdout
    return {each["pid"]: each["argv"] for each in json.loads(said)["processes"]}
