"""The links of a lab of machines: each machine's own kernel drops and shapes its packets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stormpool.capability import Capability
from stormpool.links import Shape
from stormpool.node import Node
from stormpool.providers import netem
from stormpool.providers.addresses import INTERFACE
from stormpool.providers.links import NodeLinks

if TYPE_CHECKING:
    from stormpool.providers.vagrant.nodes import VagrantNodes

BETWEEN = "ifb-lab"
SHAPE = Path(__file__).with_name("shape.sh")


class VagrantLinks(NodeLinks):
    """The links of one lab."""

    def __init__(self, lab: VagrantNodes) -> None:
        super().__init__()
        self._lab = lab

    @property
    def _nodes(self) -> Mapping[str, Node]:
        return self._lab.nodes

    @property
    def _capabilities(self) -> frozenset[Capability]:
        return self._lab.capabilities

    def forget(self, *names: str) -> None:
        """The kernels of these machines know nothing of it any more: they were booted, or set back."""
        with self._lock:
            for name in names:
                self._forget(name)
            self._apply()

    def _load(self, name: str, rules: str) -> None:
        self._nodes[name].run(["nft", "-f", "-"], input=rules)

    def _set_shape(self, name: str, shape: Shape | None) -> None:
        words = netem.words(shape) if shape else []
        self._nodes[name].run(["sh", str(SHAPE), INTERFACE, BETWEEN, *words])
