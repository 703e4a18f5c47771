"""How the observer is run on a node."""

from __future__ import annotations

from pathlib import Path

from stormpool.node import Node
from stormpool.observe import on_node

PACKAGES = Path(__file__).parents[2]
MAIN = """import sys; sys.path.insert(0, sys.argv[1])
from stormpool.observe import on_node; on_node.main(sys.argv[2:])"""


def observer(python: str, node: Node, *asked: str) -> list[str]:
    """What runs it (see `stormpool.observe.on_node`).

    It needs nothing but the interpreter, which starts in half the time without its packages; but where the
    kernel has ZFS pyzfs is one of them.
    """
    alone = [] if node.zfs.in_kernel else ["-S"]
    by = on_node.KERNEL if node.zfs.in_kernel else on_node.DAEMON
    return [python, "-I", *alone, "-c", MAIN, str(PACKAGES), by, *asked]
