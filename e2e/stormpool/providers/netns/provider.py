"""The provider itself."""

from __future__ import annotations

from stormpool import capacity
from stormpool.capability import Capability
from stormpool.lab import Lab
from stormpool.node import Bringing
from stormpool.providers import checks
from stormpool.providers.netns.nodes import NamespaceNodes, capabilities


class Netns:
    """The provider `netns`."""

    name = "netns"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to nodes of its, on this host."""
        return capabilities()

    def missing(self) -> list[str]:
        """What this host lacks to run a lab, each with the command that mends it."""
        return checks.missing(checks.required())

    def takes(self, lab: Lab) -> int:
        """The memory that a lab takes, in MiB; its disks are in memory too."""
        return capacity.needed(lab)

    def up(self, lab: Lab, bringing: Bringing) -> NamespaceNodes:
        """Bring all nodes of `lab` up, or leave nothing and raise."""
        nodes = NamespaceNodes(lab, bringing.lab_id, bringing.run_dir)
        nodes.up()
        return nodes
