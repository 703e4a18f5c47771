"""A way from a node to its own agent's API that can be cut: a socket that the harness forwards.

A plugin that watches the API is told to go that way (`stormpool.lab.API_DOOR`); nobody else does.
"""

from __future__ import annotations

from stormpool.agents.nomad import HTTP_PORT
from stormpool.companions import Companions
from stormpool.lab import API_DOOR
from stormpool.node import Node

NAME = "api-door"


def open_on(node: Node, companions: Companions) -> None:
    """Open a node's; whoever was on the way has to come again."""
    companions.forward(node, NAME, API_DOOR, HTTP_PORT)


def close_on(node: Node, companions: Companions) -> None:
    """Close a node's: connections end, and new ones are refused."""
    companions.end(node, NAME)
