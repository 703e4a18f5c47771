"""A run, from the lab's spec to its report: the one line everything else hangs on.

lab spec → nodes up → agents and plugins, taps between → workload → settle → observe → judge → report → down
"""

from __future__ import annotations

import re
import secrets
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from stormpool import capacity, reporter, stubs
from stormpool.agents import build
from stormpool.cluster import Cluster
from stormpool.errors import MachineError, Misuse, StormpoolError
from stormpool.history import History, Operation, Phase
from stormpool.judge import GuaranteeBroken, NotJudged
from stormpool.lab import Lab
from stormpool.node import Nodes, Provider
from stormpool.providers.netns import Netns
from stormpool.report.page import Judgement
from stormpool.run import About
from stormpool.store import Recorder, RunDirectory

PROVIDERS: dict[str, Callable[[], Provider]] = {"netns": Netns}
DEFAULT_NOMAD = "1.6.1"


@dataclass(frozen=True)
class Asked:
    """What somebody asked to be run."""

    lab: Lab
    scenario: str
    nomad: str = DEFAULT_NOMAD
    seed: int = 0
    out: Path = field(default_factory=lambda: Path("runs"))
    provider: str = "netns"

    def replay(self) -> str:
        """The line that runs it again."""
        return f"stormpool run {self.scenario} --nomad {self.nomad} --seed {self.seed}"


Told = Callable[[RunDirectory | None, str], None]


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """SIGTERM ends what is inside as Ctrl-C does: in order."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def running(asked: Asked, told: Told = lambda *_: None) -> Iterator[Cluster]:
    """A cluster that is up; on leaving, whatever happened, the report is written and nothing is left.

    `told` hears of each phase. Raises `Misuse` or `MachineError`; the run's directory then says why.
    """
    with ending_on_sigterm():
        yield from _running(asked, told)


def _running(asked: Asked, told: Told) -> Iterator[Cluster]:
    lab_id = secrets.token_hex(4)
    directory = RunDirectory.create(asked.out, f"{_slug(asked.scenario)}-{_slug(asked.nomad)}-{lab_id}")
    about = About(
        id=lab_id,
        scenario=asked.scenario,
        guarantees=[],
        versions={"nomad": asked.nomad},
        seed=asked.seed,
        lab=asked.lab,
        provider=asked.provider,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        replay=asked.replay(),
    )
    recorder = Recorder(directory.history, lambda phase: told(directory, phase))
    about.began_wall = recorder.zero_wall
    directory.write_about(about)
    try:
        recorder.phase("prepare")
        provider = _ready_provider(asked)
        agent = build.resolve(asked.nomad, lambda said: told(directory, said))
        about.versions["nomad"] = agent.version
        if asked.lab.plugins:
            stubs.ensure("csi")
            stubs.ensure("nomad")
            stubs.ensure("goplugin")
        recorder.phase("up")
        nodes = provider.up(asked.lab, lab_id, directory.path)
        try:
            cluster = Cluster(asked.lab, nodes, agent, directory, recorder, asked.seed)
            try:
                cluster.start()
                yield cluster
                _note(about, cluster.failed)
            finally:
                cluster.stop()
        finally:
            recorder.phase("down")
            nodes.down()
        _must_be_gone(nodes)
    except BaseException as error:
        _note(about, error)
        raise
    finally:
        recorder.phase("done")
        recorder.close()
        finish(directory, about)


def _must_be_gone(nodes: Nodes) -> None:
    left = nodes.left_behind()
    if left:
        raise MachineError("the lab left behind on this host: " + ", ".join(left))


def _ready_provider(asked: Asked) -> Provider:
    """The provider asked for, on a host that can hold the lab. Raises `Misuse` where it cannot."""
    provider = provider_named(asked.provider)
    missing = provider.missing()
    if missing:
        raise Misuse("this machine cannot run a lab: " + "; ".join(missing), fix="see `stormpool doctor`")
    capacity.must_hold(asked.lab)
    return provider


def provider_named(name: str) -> Provider:
    """A provider. Raises `Misuse` when there is none of that name."""
    if name not in PROVIDERS:
        raise Misuse(f"no provider is named {name!r}", fix=f"name one of: {', '.join(PROVIDERS)}")
    return PROVIDERS[name]()


def finish(directory: RunDirectory, about: About) -> None:
    """Write what the run came to: its timings, and the report."""
    history = directory.read_history()
    judged = directory.judged()
    verdicts = judged.verdicts if judged else []
    about.timings = timings(history)
    about.operations = operations(history)
    about.guarantees = [verdict.guarantee for verdict in verdicts]
    directory.write_about(about)
    reporter.write(directory, Judgement(about, history, verdicts))


def timings(history: History) -> dict[str, float]:
    """Seconds spent in each phase of a run."""
    phases = history.of(Phase)
    spent: dict[str, float] = {}
    for phase, after in pairwise(phases):
        spent[phase.name] = spent.get(phase.name, 0.0) + (after.t - phase.t) / 1e9
    return spent


def operations(history: History) -> dict[str, str]:
    """What the workload did: how many times, and how many of them failed."""
    done, failed = Counter[str](), Counter[str]()
    for event in history.of(Operation):
        done[event.name] += 1
        failed[event.name] += bool(event.error)
    return {name: f"{count}, {failed[name]} failed" for name, count in done.items()}


def _note(about: About, error: BaseException | None) -> None:
    """Say in the run what kept it from being judged; a broken guarantee is no such thing."""
    if error is None or isinstance(error, GuaranteeBroken | NotJudged):
        return
    about.error = str(error) if isinstance(error, StormpoolError) else f"{type(error).__name__}: {error}"
    about.error_kind = (
        "misuse"
        if isinstance(error, Misuse)
        else "machine"
        if isinstance(error, StormpoolError)
        else "scenario"
    )


def _slug(scenario: str) -> str:
    """A scenario's name as part of a directory's."""
    name = Path(scenario.partition("::")[0]).name.removesuffix(".py").removeprefix("test_")
    return re.sub(r"[^\w.-]+", "-", name)[:60] or "lab"
