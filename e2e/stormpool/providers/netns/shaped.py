"""A node's link shaped by the kernel's netem, both ways, where it has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stormpool import shell
from stormpool.links import Shape
from stormpool.providers import checks, netem
from stormpool.providers.addresses import INTERFACE
from stormpool.providers.netns.enter import network

if TYPE_CHECKING:
    from stormpool.providers.netns.nodes import NamespaceNodes


class NetemLink:
    """One node's link while it is shaped: a queue discipline at each end of its veth pair."""

    def __init__(self, name: str, nest: NamespaceNodes) -> None:
        self._ends = [(nest.nodes[name].init, INTERFACE), (nest.init, name)]

    def shape(self, shape: Shape) -> None:
        """Change what becomes of its packets."""
        self._tc("replace", *netem.words(shape))

    def end(self) -> None:
        """Let all packets go as they come."""
        self._tc("del")

    def cut(self) -> None:
        """Nothing to do: both ends go with the node."""

    def _tc(self, verb: str, *words: str) -> None:
        for init, interface in self._ends:
            shell.run([*network(init), checks.path("tc"), "qdisc", verb, "dev", interface, "root", *words])
