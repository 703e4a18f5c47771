"""Where nodes are in the lab's network, whatever they are made of."""

from __future__ import annotations

from stormpool.lab import NodeSpec, Role

NETWORK = "10.77.0"
INTERFACE = "eth0"
FIRST = {Role.SERVER: 0, Role.CLIENT: 100}  # an address's last byte is this plus the node's index


def address_of(spec: NodeSpec) -> str:
    """A node's IPv4 address in the lab's network."""
    return f"{NETWORK}.{FIRST[spec.role] + spec.index}"


def card_of(spec: NodeSpec) -> str:
    """The hardware address of a node's card: the same after every boot, as others have it in their caches."""
    return "02:00:" + ":".join(f"{int(byte):02x}" for byte in address_of(spec).split("."))
