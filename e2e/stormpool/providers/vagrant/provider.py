"""The provider itself."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.lab import Lab
from stormpool.node import Bringing
from stormpool.providers.checks import missing
from stormpool.providers.vagrant import checks
from stormpool.providers.vagrant.node import DISKS
from stormpool.providers.vagrant.nodes import CAPABILITIES, MEMORY, VagrantNodes

BESIDE = 512  # MiB: translated code 256, what the first disk takes in and a snapshot the rest
PAYLOAD = 256


class Vagrant:
    """The provider `vagrant`."""

    name = "vagrant"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to nodes of its, on this host."""
        return CAPABILITIES

    def missing(self) -> list[str]:
        """What this host lacks to run a lab, each with the command that mends it."""
        return missing(checks.required())

    def takes(self, lab: Lab) -> int:
        """The memory that a lab takes, in MiB: machines, and beside them disks and snapshots."""
        return len(lab.nodes()) * (MEMORY + BESIDE + len(DISKS) * lab.pool_mib) + PAYLOAD

    def up(self, lab: Lab, bringing: Bringing) -> VagrantNodes:
        """Bring all nodes of `lab` up, or leave nothing and raise."""
        nodes = VagrantNodes(lab, bringing)
        nodes.up()
        return nodes
