"""The links of a lab of namespaces: told to the nodes' firewalls and to what shapes their packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stormpool import shell
from stormpool.capability import Capability
from stormpool.links import Shape
from stormpool.node import Node
from stormpool.providers import checks
from stormpool.providers.addresses import INTERFACE
from stormpool.providers.links import NodeLinks
from stormpool.providers.netns.enter import network
from stormpool.providers.netns.relayed import RelayedLink
from stormpool.providers.netns.shaped import NetemLink

if TYPE_CHECKING:
    from stormpool.providers.netns.nodes import NamespaceNodes

UNSHAPED = 65535  # segments that a veth card takes as one packet


class NamespaceLinks(NodeLinks):
    """The links of one lab."""

    def __init__(self, nest: NamespaceNodes) -> None:
        super().__init__()
        self._nest = nest
        self._shaped: dict[str, RelayedLink | NetemLink] = {}

    @property
    def _nodes(self) -> Mapping[str, Node]:
        return self._nest.nodes

    @property
    def _capabilities(self) -> frozenset[Capability]:
        return self._nest.capabilities

    def unplug(self, name: str) -> None:
        """A node's power is about to be cut: nothing of it is heard from now on."""
        with self._lock:
            shaped = self._shaped.pop(name, None)
            if shaped is not None:
                shaped.cut()
            self._forget(name)

    def plug(self) -> None:
        """A node is up again: what is asked holds for it too."""
        with self._lock:
            self._apply()

    def _load(self, name: str, rules: str) -> None:
        init = self._nest.nodes[name].init
        shell.run([*network(init), checks.path("nft"), "-f", "-"], where=name, input=rules)

    def _set_shape(self, name: str, shape: Shape | None) -> None:
        if shape is None:
            self._shaped.pop(name).end()
            self._segments(name, UNSHAPED)
            return
        if name not in self._shaped:
            self._segments(name, 1)
            kind = NetemLink if checks.netem().well else RelayedLink
            self._shaped[name] = kind(name, self._nest)
        self._shaped[name].shape(shape)

    def _segments(self, name: str, most: int) -> None:
        """How many segments of a connection the node's card takes at once: one, as a wire does, or many."""
        init = self._nest.nodes[name].init
        shell.run([*network(init), "ip", "link", "set", INTERFACE, "gso_max_segs", str(most)], where=name)
