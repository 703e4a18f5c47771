"""A plugin started on a node of a lab, and driven from this host: without an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from stormpool.errors import MachineError
from stormpool.goplugin.process import Running, environment
from stormpool.node import Nodes


class OnNode:
    """A plugin's process on a node, with its socket behind the lab's door; it ends with the lab."""

    def __init__(
        self, nodes: Nodes, node: str, argv: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None
    ) -> None:
        """Start it; both its outputs are appended to `log` on this host."""
        self._nodes = nodes
        self._log = log
        self._begins = log.stat().st_size if log.exists() else 0  # an earlier process said that
        given = {**(env or {}), **environment(nodes.door)}
        self.process: Running = nodes.nodes[node].start(f"plugin on {node}", argv, env=given, log=log)

    def said(self) -> str:
        """Both of its outputs so far."""
        return self._log.read_bytes()[self._begins :].decode(errors="replace")

    def here(self, address: str) -> str:
        """Where a socket of the plugin's is on this host. Raises `MachineError` when it is elsewhere."""
        try:
            name = PurePosixPath(address).relative_to(self._nodes.door)
        except ValueError:
            raise MachineError(
                f"the plugin listens at {address}: only what is below {self._nodes.door} is seen from here"
            ) from None
        return self._nodes.sockets.to(str(name))
