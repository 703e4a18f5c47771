"""The provider itself."""

from __future__ import annotations

from pathlib import Path

from stormpool.lab import Lab
from stormpool.providers import checks
from stormpool.providers.netns.nodes import NamespaceNodes


class Netns:
    """The provider `netns`."""

    name = "netns"

    def missing(self) -> list[str]:
        """What this host lacks to run a lab, each with the command that mends it."""
        return [
            f"{check.what}: {check.found} ({check.mend})" for check in checks.required() if not check.well
        ]

    def up(self, lab: Lab, lab_id: str, run_dir: Path) -> NamespaceNodes:
        """Bring all nodes of `lab` up, or leave nothing and raise."""
        nodes = NamespaceNodes(lab, lab_id, run_dir)
        nodes.up()
        return nodes
