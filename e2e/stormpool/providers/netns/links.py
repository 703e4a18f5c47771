"""What is wrong with the links of one lab, told to the nodes' firewalls and to what shapes their packets."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from stormpool import shell
from stormpool.capability import Capability
from stormpool.errors import Misuse
from stormpool.links import Pair, Shape, Standing
from stormpool.providers import checks
from stormpool.providers.netns import firewall
from stormpool.providers.netns.enter import INTERFACE, network
from stormpool.providers.netns.relayed import RelayedLink
from stormpool.providers.netns.shaped import NetemLink

if TYPE_CHECKING:
    from stormpool.providers.netns.nodes import NamespaceNodes

UNSHAPED = 65535  # segments that a veth card takes as one packet


class NamespaceLinks:
    """The links of one lab. Safe to use from several threads."""

    def __init__(self, nest: NamespaceNodes) -> None:
        self._nest = nest
        self._standing = Standing()
        self._lock = threading.Lock()
        self._deaf: dict[str, list[str]] = {}  # node → whose packets its firewall drops
        self._shaped: dict[str, RelayedLink | NetemLink] = {}
        self._shapes: dict[str, Shape] = {}

    @property
    def whole(self) -> bool:
        """Whether nothing is asked of them."""
        return self._standing.whole

    def drop(self, pairs: Iterable[Pair], by: Hashable) -> None:
        """Drop every packet from one node to another, without a word to either."""
        self._must(Capability.FIREWALL)
        with self._lock:
            self._standing.drop(pairs, by)
            self._apply()

    def shape(self, node: str, shape: Shape, by: Hashable) -> None:
        """Shape a node's link, both ways."""
        self._must(Capability.LINK)
        with self._lock:
            self._standing.shape(node, shape, by)
            self._apply()

    def restore(self, by: Hashable | None = None) -> None:
        """Undo what was asked by somebody, or by everybody."""
        with self._lock:
            self._standing.restore(by)
            self._apply()

    def unplug(self, name: str) -> None:
        """A node's power is about to be cut: nothing of it is heard from now on."""
        with self._lock:
            shaped = self._shaped.pop(name, None)
            if shaped is not None:
                shaped.cut()
            self._deaf.pop(name, None)
            self._shapes.pop(name, None)

    def plug(self) -> None:
        """A node is up again: what is asked holds for it too."""
        with self._lock:
            self._apply()

    def _must(self, capability: Capability) -> None:
        if capability not in self._nest.capabilities:
            raise Misuse(f"this host cannot {capability}", fix="see `stormpool doctor`")

    def _apply(self) -> None:
        shapes = self._standing.shapes()
        for name, node in self._nest.nodes.items():
            if node.up:
                self._set_firewall(name, self._standing.deaf(name))
                self._set_shape(name, shapes.get(name))

    def _set_firewall(self, name: str, sources: list[str]) -> None:
        if self._deaf.get(name, []) == sources:
            return
        nodes = self._nest.nodes
        rules = firewall.rules([nodes[source].address for source in sources])
        shell.run([*network(nodes[name].init), checks.path("nft"), "-f", "-"], where=name, input=rules)
        self._deaf[name] = sources

    def _set_shape(self, name: str, shape: Shape | None) -> None:
        if self._shapes.get(name) == shape:
            return
        if shape is None:
            self._shaped.pop(name).end()
            self._segments(name, UNSHAPED)
            del self._shapes[name]
            return
        if name not in self._shaped:
            self._segments(name, 1)
            kind = NetemLink if checks.netem().well else RelayedLink
            self._shaped[name] = kind(name, self._nest)
        self._shaped[name].shape(shape)
        self._shapes[name] = shape

    def _segments(self, name: str, most: int) -> None:
        """How many segments of a connection the node's card takes at once: one, as a wire does, or many."""
        init = self._nest.nodes[name].init
        shell.run([*network(init), "ip", "link", "set", INTERFACE, "gso_max_segs", str(most)], where=name)
