"""What every audit starts from."""

from __future__ import annotations

import pytest
from testinfra.host import Host

from stormpool.audit import node as nodes
from stormpool.audit.node import Node


@pytest.fixture(scope="module")
def node(host: Host) -> Node:
    """The node under audit."""
    return nodes.of(host)
