"""How namespaces are made and entered, and where nodes are in the lab's network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stormpool.lab import NodeSpec, Role

HERE = Path(__file__).parent
NETWORK = "10.77.0"
BRIDGE = "lab0"
INTERFACE = "eth0"
FIRST = {Role.SERVER: 0, Role.CLIENT: 100}  # an address's last byte is this plus the node's index

Argv = Sequence[str]

NEW = ["--net", "--mount", "--pid", "--fork", "--uts", "--propagation", "private"]
USER = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
CGROUP = ["--cgroup"] if os.geteuid() == 0 else []


def address_of(spec: NodeSpec) -> str:
    """A node's IPv4 address in the lab's network."""
    return f"{NETWORK}.{FIRST[spec.role] + spec.index}"


def card_of(spec: NodeSpec) -> str:
    """The hardware address of a node's card: the same after every boot, as others have it in their caches."""
    return "02:00:" + ":".join(f"{int(byte):02x}" for byte in address_of(spec).split("."))


def enter(init: int) -> list[str]:
    """What runs a command in all the namespaces of an init."""
    return ["nsenter", f"--target={init}", *USER, "--mount", "--uts", "--net", "--pid", *CGROUP, "--"]


def network(init: int) -> list[str]:
    """What runs a command of this host in the network of an init."""
    return ["nsenter", f"--target={init}", *USER, "--net", "--"]


def join(dirs: Sequence[str]) -> list[str]:
    """What runs a command in cgroups."""
    return ["sh", str(HERE / "join.sh"), *dirs, "--"] if dirs else []
