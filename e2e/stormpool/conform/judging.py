"""What every `stormpool conform` does: a bench in a lab of its own, rules one after another, results."""

from __future__ import annotations

import secrets
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from stormpool import pools
from stormpool.board import spinner
from stormpool.conform import results, suite
from stormpool.conform.results import Result
from stormpool.conform.rule import Rule
from stormpool.errors import MachineError, Misuse
from stormpool.lab import Lab, Role
from stormpool.node import Bringing, Nodes, Provider
from stormpool.runner import provider_named

POOL_MIB = 256  # of each node's own pool


class Wanted(Protocol):
    """What is to be judged, and where it is told."""

    @property
    def kind(self) -> str:
        """What is conformed to: csi, device or driver."""

    @property
    def junit(self) -> Path | None:
        """Where the results are written as JUnit XML."""

    @property
    def logs(self) -> Path | None:
        """Where what the plugin says is kept."""

    @property
    def provider(self) -> str:
        """What the node is made of."""

    def check(self) -> None:
        """Raise `Misuse` for what cannot be."""

    def picked(self) -> list[Rule[Any]]:
        """The rules to judge. Raises `Misuse`."""

    def bench(self, nodes: Nodes, logs: Path) -> AbstractContextManager[Any]:
        """A bench with the plugin, on the nodes of a lab."""


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


@contextmanager
def nodes_up(provider: Provider, lab_id: str, directory: Path, count: int = 1) -> Iterator[Nodes]:
    """A lab without agents, with so many nodes that have a pool, `client1` and on. It is gone on leaving."""
    lab = Lab(servers=0, clients=count, pool_mib=POOL_MIB)
    nodes = provider.up(lab, Bringing(lab_id, directory))
    try:
        for name in lab.names(Role.CLIENT):
            pools.start(nodes.nodes[name], lab.pool_mib, directory / f"{name}-zfs.log")
        yield nodes
    finally:
        nodes.down()


def words(text: str, option: str) -> tuple[str, ...]:
    """A command line in words. Raises `Misuse` when it is none; `option`: what said it."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise Misuse(
            f"{option} cannot be split into words: {error}", fix="quote it as a shell would"
        ) from error


def command(text: str) -> tuple[str, ...]:
    """A plugin's command line, its program as seen from anywhere. Raises `Misuse` when there is none."""
    if not text.strip():
        raise Misuse("no plugin is named", fix="say --plugin with its command line")
    program, *rest = words(text, "--plugin")
    return (str(Path(program).absolute()) if "/" in program else program, *rest)


def pair(text: str, option: str) -> tuple[str, str]:
    """A KEY=VALUE. Raises `Misuse` when it is none."""
    key, equals, value = text.partition("=")
    if not equals:
        raise Misuse(f"{option} {text!r} has no value", fix="say KEY=VALUE")
    return key, value


def _provider(name: str) -> Provider:
    """A provider that this machine has what it needs for. Raises `Misuse`."""
    provider = provider_named(name)
    missing = provider.missing()
    if missing:
        raise Misuse("this machine cannot run a lab: " + "; ".join(missing), fix="see `stormpool doctor`")
    return provider


@contextmanager
def _bench(wanted: Wanted, provider: Provider, logs: Path) -> Iterator[Any]:
    """A bench in a lab of its own, of which nothing is left on leaving."""
    with tempfile.TemporaryDirectory(prefix="stormpool-") as scratch:
        lab = nodes_up(provider, secrets.token_hex(4), Path(scratch))
        with lab as nodes, wanted.bench(nodes, logs) as bench:
            yield bench
        left = nodes.left_behind()
    if left:
        raise MachineError("the lab left behind on this host: " + ", ".join(left))


def _write(path: Path | None, found: Iterable[Result], name: str) -> None:
    """Write what was judged, of a run that was cut short too."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(results.junit(list(found), name))
