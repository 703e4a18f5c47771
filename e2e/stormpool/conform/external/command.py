"""`stormpool conform device` and `stormpool conform driver`: a plugin on a bench, its rules, what is told."""

from __future__ import annotations

import secrets
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from stormpool.board import spinner
from stormpool.conform import results, suite
from stormpool.conform.external.bench import NODE, Asked, nodes_up
from stormpool.conform.external.device import rules as device_rules
from stormpool.conform.external.device.bench import DeviceBench
from stormpool.conform.external.driver import rules as driver_rules
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import TaskAsked
from stormpool.conform.external.plugin import Command
from stormpool.conform.results import Result
from stormpool.conform.rule import Rule, picked
from stormpool.errors import MachineError, Misuse
from stormpool.node import Nodes, Provider
from stormpool.runner import provider_named

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

    def bench(self, nodes: Nodes, logs: Path) -> AnyBench:
        """A bench with it."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise `Misuse` for what cannot be."""
        self.asked()

    def asked(self) -> Asked:
        """The plugin. Raises `Misuse`."""
        if not self.plugin:
            raise Misuse("no plugin is named", fix="say --plugin with its command line")
        env = dict(_pair(each) for each in self.env)
        program, *words = _words(self.plugin, "--plugin")
        argv = (str(Path(program).absolute()) if "/" in program else program, *words)
        return Asked(Command(argv, env), _object(self.config, "--config"))

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

    def bench(self, nodes: Nodes, logs: Path) -> DeviceBench:
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
        return TaskAsked(config, _words(self.shell, "--shell"), self.user)

    def bench(self, nodes: Nodes, logs: Path) -> DriverBench:
        """A bench with it."""
        return DriverBench(nodes, self.asked(), logs, self.task())


def listed(wanted: Wanted) -> str:
    """The rules that would be judged, each with its source."""
    return "".join(f"{each.name}  [{each.source}]\n" for each in wanted.picked())


def run(wanted: Wanted, tell: Callable[[Result], object]) -> list[Result]:
    """Judge a plugin; `tell` hears of each rule as it is judged."""
    wanted.check()
    chosen, found, name = wanted.picked(), list[Result](), f"conform {wanted.kind}"
    with tempfile.TemporaryDirectory(prefix="stormpool-") as scratch, spinner(name) as told:
        logs = wanted.logs or Path(scratch)
        logs.mkdir(parents=True, exist_ok=True)
        set_up = partial(_bench, wanted, _provider(wanted.provider), logs)
        try:
            with closing(suite.run(chosen, set_up, told)) as judged:
                for result in judged:
                    found.append(result)
                    tell(result)
        finally:
            _write(wanted.junit, found, f"stormpool {name}")
    return found


def _provider(name: str) -> Provider:
    """A provider that this machine has what it needs for. Raises `Misuse`."""
    provider = provider_named(name)
    missing = provider.missing()
    if missing:
        raise Misuse("this machine cannot run a lab: " + "; ".join(missing), fix="see `stormpool doctor`")
    return provider


@contextmanager
def _bench(wanted: Wanted, provider: Provider, logs: Path) -> Iterator[AnyBench]:
    """A bench in a lab of its own, of which nothing is left on leaving."""
    with tempfile.TemporaryDirectory(prefix="stormpool-") as scratch:
        with nodes_up(provider, secrets.token_hex(4), Path(scratch)) as nodes:
            for command in wanted.before:
                nodes.nodes[NODE].run(["sh", "-c", command], timeout=PREPARED_WITHIN)
            with closing(wanted.bench(nodes, logs)) as bench:
                yield bench
        left = nodes.left_behind()
    if left:
        raise MachineError("the lab left behind on this host: " + ", ".join(left))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise Misuse(f"{text!r} is no variable", fix="say KEY=VALUE")
    return key, value


def _words(text: str, option: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise Misuse(
            f"{option} cannot be split into words: {error}", fix="quote it as a shell would"
        ) from error


def _object(text: str, option: str) -> Mapping[str, Any]:
    """A JSON object, or that of a file where it says @FILE."""
    try:
        said = Path(text[1:]).read_bytes() if text.startswith("@") else text
        return msgspec.json.decode(said, type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise Misuse(f"{option} is no JSON object: {error}", fix="say one, or @FILE") from error


def _write(path: Path | None, found: Iterable[Result], name: str) -> None:
    """Write what was judged, of a run that was cut short too."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(results.junit(list(found), name))
