"""The harness's own processes on nodes (`companion.py`), by name: a fault begins one, its heal ends it."""

from __future__ import annotations

from pathlib import Path

from stormpool.node import Node

SCRIPT = str(Path(__file__).with_name("companion.py"))


class Companions:
    """Begins and ends them."""

    def __init__(self, python: str) -> None:
        self._command = [python, "-I", "-S", SCRIPT]  # it needs nothing but the interpreter

    def occupy(self, node: Node, name: str, directories: list[str]) -> None:
        """Keep directories of a node open."""
        node.run([*self._command, "begin", name, "occupy", *directories])

    def stutter(self, node: Node, name: str, pid: int, stopped: float, running: float) -> None:
        """Stop a process for so many seconds and let it run for so many, in turns."""
        node.run([*self._command, "begin", name, "stutter", str(pid), str(stopped), str(running)])

    def forward(self, node: Node, name: str, path: str, port: int) -> None:
        """Have a unix socket of a node lead to a port of its loopback, in place of one of that name."""
        self.end(node, name)
        node.run([*self._command, "begin", name, "forward", path, str(port)])

    def end(self, node: Node, name: str) -> None:
        """End the one of that name and wait until it is gone; nothing happens when there is none."""
        node.run([*self._command, "end", name])
