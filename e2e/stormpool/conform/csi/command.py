"""`stormpool conform csi`: a plugin on a bench of its own, its rules, and what is told of them."""

from __future__ import annotations

import secrets
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from stormpool.board import spinner
from stormpool.conform import results, suite
from stormpool.conform.csi import rules
from stormpool.conform.csi.bench import Asked, Bench, nodes_up, set_up
from stormpool.conform.results import Result
from stormpool.conform.rule import Rule, picked
from stormpool.errors import MachineError, Misuse
from stormpool.lab import CsiPlugin
from stormpool.node import Provider
from stormpool.runner import provider_named


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

    def asked(self) -> Asked:
        """The plugin and its volumes. Raises `Misuse`."""
        if not self.plugin.strip():
            raise Misuse("no plugin to judge", fix="say --plugin 'COMMAND --its-options {endpoint}'")
        given = dict(_pair(each) for each in self.parameters)
        try:
            first, *rest = shlex.split(self.plugin)
        except ValueError as error:
            raise Misuse(
                f"--plugin cannot be split into words: {error}", fix="quote it as a shell would"
            ) from error
        program = str(Path(first).absolute()) if "/" in first else first  # a node has a directory of its own
        plugin = CsiPlugin(id="plugin", argv=(program, *rest), parameters=given)
        return Asked(plugin, self.size, _secrets(self.secrets), self.patience)

    def picked(self) -> list[Rule[Bench]]:
        """The rules to judge. Raises `Misuse`."""
        return picked(rules.ALL, self.rules, self.without)


def listed(wanted: Wanted) -> str:
    """The rules that would be judged, each with its source."""
    return "".join(f"{each.name}  [{each.source}]\n" for each in wanted.picked())


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise Misuse(f"{text!r} is no parameter", fix="say KEY=VALUE")
    return key, value


def _secrets(path: Path | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError) as error:
        raise Misuse(f"no secrets are in {path}: {error}", fix='write {"key": "value", …} into it') from error


def run(wanted: Wanted, tell: Callable[[Result], object]) -> list[Result]:
    """Judge a plugin; `tell` hears of each rule as it is judged."""
    chosen, found = wanted.picked(), list[Result]()
    with tempfile.TemporaryDirectory(prefix="stormpool-") as scratch, spinner("conform csi") as told:
        logs = wanted.logs or Path(scratch)
        logs.mkdir(parents=True, exist_ok=True)
        set_up = partial(_bench, wanted.asked(), _provider(wanted.provider), logs)
        try:
            with closing(suite.run(chosen, set_up, told)) as judged:
                for result in judged:
                    found.append(result)
                    tell(result)
        finally:
            _write(wanted.junit, found)
    return found


def _provider(name: str) -> Provider:
    """A provider that this machine has what it needs for. Raises `Misuse`."""
    provider = provider_named(name)
    missing = provider.missing()
    if missing:
        raise Misuse("this machine cannot run a lab: " + "; ".join(missing), fix="see `stormpool doctor`")
    return provider


@contextmanager
def _bench(asked: Asked, provider: Provider, logs: Path) -> Iterator[Bench]:
    """A bench in a lab of its own, of which nothing is left on leaving."""
    with tempfile.TemporaryDirectory(prefix="stormpool-") as scratch:
        lab = nodes_up(provider, secrets.token_hex(4), Path(scratch))
        with lab as nodes, set_up(nodes, asked, logs) as bench:
            yield bench
        left = nodes.left_behind()
    if left:
        raise MachineError("the lab left behind on this host: " + ", ".join(left))


def _write(path: Path | None, found: Iterable[Result]) -> None:
    """Write what was judged, of a run that was cut short too."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(results.junit(list(found), "stormpool conform csi"))
