"""`stormpool conform csi`: which plugin, with which volumes, by which rules."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from stormpool.conform.csi import rules
from stormpool.conform.csi.bench import Asked, Bench, set_up
from stormpool.conform.judging import command, pair
from stormpool.conform.rule import Rule, picked
from stormpool.errors import Misuse
from stormpool.lab import CsiPlugin
from stormpool.node import Nodes


@dataclass(frozen=True)
class Wanted:
    """What is to be judged, and where it is told."""

    plugin: str  # its command line
    parameters: tuple[str, ...]  # KEY=VALUE
    secrets: Path | None
    size: int  # bytes
    rules: tuple[str, ...]
    without: tuple[str, ...]
    patience: float  # seconds
    junit: Path | None
    logs: Path | None  # where the plugin's log is kept
    provider: str

    kind: ClassVar[str] = "csi"

    def check(self) -> None:
        """Raise `Misuse` for what cannot be."""
        self.asked()

    def asked(self) -> Asked:
        """The plugin and its volumes. Raises `Misuse`."""
        given = dict(pair(each, "--parameters") for each in self.parameters)
        plugin = CsiPlugin(id="plugin", argv=command(self.plugin), parameters=given)
        return Asked(plugin, self.size, _secrets(self.secrets), self.patience)

    def picked(self) -> list[Rule[Bench]]:
        """The rules to judge. Raises `Misuse`."""
        return picked(rules.ALL, self.rules, self.without)

    def bench(self, nodes: Nodes, logs: Path) -> AbstractContextManager[Bench]:
        """A bench with it."""
        return set_up(nodes, self.asked(), logs)


def _secrets(path: Path | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError) as error:
        raise Misuse(f"no secrets are in {path}: {error}", fix='write {"key": "value", …} into it') from error
