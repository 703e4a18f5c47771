"""`stormpool conform device` and `driver`: which plugin, how it is set up, by which rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from stormpool.conform.external.bench import NODE, Asked
from stormpool.conform.external.device import rules as device_rules
from stormpool.conform.external.device.bench import DeviceBench
from stormpool.conform.external.driver import rules as driver_rules
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import TaskAsked
from stormpool.conform.external.plugin import Command
from stormpool.conform.judging import command, pair, words
from stormpool.conform.rule import Rule, picked
from stormpool.errors import Misuse
from stormpool.node import Nodes

AnyBench = DeviceBench | DriverBench
PREPARED_WITHIN = 120.0  # seconds for a command that prepares the node


@dataclass(frozen=True)
class Wanted:
    """What is to be judged, and where it is told."""

    plugin: str  # its command line
    config: str  # its own configuration, as JSON
    env: tuple[str, ...]  # KEY=VALUE
    before: tuple[str, ...]  # commands that prepare the node
    rules: tuple[str, ...]
    without: tuple[str, ...]
    junit: Path | None
    logs: Path | None  # where what the plugin says is kept
    provider: str

    kind: ClassVar[str]

    def all_rules(self) -> Sequence[Rule[Any]]:
        """Every rule for its kind."""
        raise NotImplementedError

    def on(self, nodes: Nodes, logs: Path) -> AnyBench:
        """A bench with it, on a node that is prepared."""
        raise NotImplementedError

    @contextmanager
    def bench(self, nodes: Nodes, logs: Path) -> Iterator[AnyBench]:
        """A bench with it, on a node that is prepared first."""
        for each in self.before:
            nodes.nodes[NODE].run(["sh", "-c", each], timeout=PREPARED_WITHIN)
        with closing(self.on(nodes, logs)) as bench:
            yield bench

    def check(self) -> None:
        """Raise `Misuse` for what cannot be."""
        self.asked()

    def asked(self) -> Asked:
        """The plugin. Raises `Misuse`."""
        env = dict(pair(each, "--env") for each in self.env)
        return Asked(Command(command(self.plugin), env), _object(self.config, "--config"))

    def picked(self) -> list[Rule[Any]]:
        """The rules to judge. Raises `Misuse`."""
        return picked(self.all_rules(), self.rules, self.without)


@dataclass(frozen=True)
class WantedDevice(Wanted):
    """A device plugin."""

    kind: ClassVar[str] = "device"

    def all_rules(self) -> Sequence[Rule[Any]]:
        """Every rule for device plugins."""
        return device_rules.ALL

    def on(self, nodes: Nodes, logs: Path) -> DeviceBench:
        """A bench with it."""
        return DeviceBench(nodes, self.asked(), logs)


@dataclass(frozen=True)
class WantedDriver(Wanted):
    """A task driver, and how it is told to run a command."""

    task_config: str
    shell: str
    user: str

    kind: ClassVar[str] = "driver"

    def all_rules(self) -> Sequence[Rule[Any]]:
        """Every rule for task drivers."""
        return driver_rules.ALL

    def check(self) -> None:
        """Raise `Misuse` for what cannot be."""
        super().check()
        self.task()

    def task(self) -> TaskAsked:
        """How it is told to run a command. Raises `Misuse`."""
        config = _object(self.task_config, "--task-config")
        return TaskAsked(config, words(self.shell, "--shell"), self.user)

    def on(self, nodes: Nodes, logs: Path) -> DriverBench:
        """A bench with it."""
        return DriverBench(nodes, self.asked(), logs, self.task())


def _object(text: str, option: str) -> Mapping[str, Any]:
    """A JSON object, or that of a file where it says @FILE."""
    try:
        said = Path(text[1:]).read_bytes() if text.startswith("@") else text
        return msgspec.json.decode(said, type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise Misuse(f"{option} is no JSON object: {error}", fix="say one, or @FILE") from error
