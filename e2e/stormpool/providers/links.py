"""What is asked of a lab's links, told to its nodes' firewalls and shapers, whatever nodes are made of."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping

from stormpool.capability import Capability
from stormpool.errors import Misuse
from stormpool.links import Pair, Shape, Standing
from stormpool.node import Node
from stormpool.providers import firewall


class NodeLinks(ABC):
    """The links of one lab. Safe to use from several threads."""

    def __init__(self) -> None:
        self._standing = Standing()
        self._lock = threading.Lock()
        self._deaf: dict[str, list[str]] = {}  # node → whose packets its firewall drops
        self._shapes: dict[str, Shape] = {}

    @property
    @abstractmethod
    def _nodes(self) -> Mapping[str, Node]:
        """Every node, by name."""

    @property
    @abstractmethod
    def _capabilities(self) -> frozenset[Capability]:
        """What can be done to them."""

    @abstractmethod
    def _load(self, name: str, rules: str) -> None:
        """Have a node's firewall obey rules of `nft`."""

    @abstractmethod
    def _set_shape(self, name: str, shape: Shape | None) -> None:
        """Shape a node's link otherwise than it is; None: not at all."""

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

    def _must(self, capability: Capability) -> None:
        if capability not in self._capabilities:
            raise Misuse(f"this host cannot {capability}", fix="see `stormpool doctor`")

    def _forget(self, name: str) -> None:
        """A node knows nothing any more of what was asked."""
        self._deaf.pop(name, None)
        self._shapes.pop(name, None)

    def _apply(self) -> None:
        shapes = self._standing.shapes()
        for name, node in self._nodes.items():
            if node.up:
                self._apply_firewall(name, self._standing.deaf(name))
                self._apply_shape(name, shapes.get(name))

    def _apply_firewall(self, name: str, sources: list[str]) -> None:
        if self._deaf.get(name, []) == sources:
            return
        self._load(name, firewall.rules([self._nodes[source].address for source in sources]))
        self._deaf[name] = sources

    def _apply_shape(self, name: str, shape: Shape | None) -> None:
        if self._shapes.get(name) == shape:
            return
        self._set_shape(name, shape)
        if shape is None:
            del self._shapes[name]
        else:
            self._shapes[name] = shape
