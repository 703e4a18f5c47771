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
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from stormpool import capacity, given, outcome, reporter, stubs
from stormpool.agents import build
from stormpool.alone.site import Alone
from stormpool.cluster import Cluster
from stormpool.errors import MachineError, Misuse, StormpoolError, Unavailable
from stormpool.events import Operation, Phase
from stormpool.history import History
from stormpool.judge import GuaranteeBroken, NotJudged
from stormpool.lab import Lab
from stormpool.node import Bringing, Nodes, Provider
from stormpool.providers.netns import Netns
from stormpool.providers.vagrant import Vagrant
from stormpool.report.page import Judgement
from stormpool.run import About
from stormpool.script import Script, encode
from stormpool.site import Site, Turn
from stormpool.store import Recorder, RunDirectory

PROVIDERS: dict[str, Callable[[], Provider]] = {"netns": Netns, "vagrant": Vagrant}
DEFAULT_NOMAD = "1.6.1"
MOST = re.compile(r"(?P<name>\w+)(?::(?P<servers>\d+)\+(?P<clients>\d+))?")


@dataclass(frozen=True)
class Asked:
    """What somebody asked to be run."""

    lab: Lab
    scenario: str
    nomad: str = DEFAULT_NOMAD
    seed: int = 0
    out: Path = field(default_factory=lambda: Path("runs"))
    provider: str = "netns"  # by name; with the most nodes it is to bring up: NAME:SERVERS+CLIENTS
    script: Script | None = None  # what replaces the scenario's own lab, workloads and plans

    def __post_init__(self) -> None:
        """Make the lab as small as the provider is to have it."""
        most = MOST.fullmatch(self.provider)
        if most is not None and most["servers"]:
            smaller = self.lab.at_most(int(most["servers"]), int(most["clients"]))
            object.__setattr__(self, "lab", smaller)

    def replay(self) -> str:
        """The line that runs it again."""
        where = "" if self.provider == "netns" else f" --provider {self.provider}"
        return f"stormpool run {self.scenario} --nomad {self.nomad} --seed {self.seed}{where}"


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
def running(asked: Asked, told: Told = lambda *_: None) -> Iterator[Any]:
    """A cluster that is up; on leaving, whatever happened, the report is written and nothing is left.

    `told` hears of each phase. Raises `Misuse` or `MachineError`; the run's directory then says why.
    """
    with ending_on_sigterm(), written(asked, told) as run, lab_up(asked, run) as cluster:
        yield cluster
        run.note(cluster.failed)


class Run:
    """A run that goes on: its directory, what is said of it there, and its history."""

    def __init__(self, asked: Asked, told: Told, recorder: Recorder | None) -> None:
        self.id = secrets.token_hex(4)
        name = f"{slug(asked.scenario)}-{slug(asked.nomad)}-{self.id}"
        self.directory = RunDirectory.create(asked.out, name)
        self.turn = Turn(self.directory, asked.seed, asked.script)
        self.recorder = recorder or Recorder(self.directory.history)
        self.about = _about(asked, self.id, str(self.directory.path))
        self.about.began_wall = self.recorder.zero_wall
        self.directory.write_about(self.about)
        self.recorder.on_phase = self.tell
        self._told = told

    def tell(self, what: str) -> None:
        """What it has come to."""
        self._told(self.directory, what)

    def note(self, error: BaseException | None) -> None:
        """Say in the run what kept it from being judged; a broken guarantee is no such thing."""
        if error is None or isinstance(error, GuaranteeBroken | NotJudged):
            return
        self.about.error = (
            str(error) if isinstance(error, StormpoolError) else f"{type(error).__name__}: {error}"
        )
        self.about.error_kind = outcome.kind_of(error)


@contextmanager
def written(asked: Asked, told: Told, recorder: Recorder | None = None) -> Iterator[Run]:
    """A run's directory, with all that is written of it once it is over, whatever happened.

    `recorder`: that of the lab it runs on, when the lab is there already.
    """
    run = Run(asked, told, recorder)
    try:
        yield run
    except BaseException as error:
        run.note(error)
        raise
    finally:
        run.recorder.phase("done")
        run.recorder.close()
        finish(run.directory, run.about)


@contextmanager
def lab_up(asked: Asked, run: Run) -> Iterator[Any]:
    """A lab with its agents and plugins up; on leaving it is gone."""
    run.recorder.phase("prepare")
    provider = _ready_provider(asked)
    lab = asked.script.lab if asked.script else asked.lab
    agent = _agent(asked, run) if lab.servers else None
    site_of: Callable[[Lab, Nodes, Recorder, Turn], Site] = partial(Cluster, agent) if agent else Alone
    if lab.plugins:
        for name in ("csi", "nomad", "goplugin"):
            stubs.ensure(name)
    run.recorder.phase("up")
    programs = (agent.path,) if agent else ()
    nodes = provider.up(lab, Bringing(run.id, run.directory.path, programs, run.tell))
    try:
        cluster = site_of(lab, nodes, run.recorder, run.turn)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
            if cluster.turn is run.turn:  # later turns are kept by who makes them, or removed already
                keep_script(cluster)
    finally:
        run.recorder.phase("down")
        nodes.down()
    _must_be_gone(nodes)


def _agent(asked: Asked, run: Run) -> build.Agent:
    """The agent that was asked for."""
    agent = build.resolve(asked.nomad, run.tell)
    run.about.versions["nomad"] = agent.version
    if "/" in asked.nomad:
        run.about.programs["nomad"] = given.program(agent.path)
    return agent


def keep_script(cluster: Site) -> None:
    """Write what was done to a lab into its run."""
    done = Script(cluster.lab, tuple(cluster.acts))
    cluster.turn.directory.script.write_bytes(encode(done))


def _about(asked: Asked, run_id: str, path: str) -> About:
    return About(
        id=run_id,
        scenario=asked.scenario,
        guarantees=[],
        versions={"nomad": asked.nomad} if asked.lab.servers else {},
        seed=asked.seed,
        lab=asked.script.lab if asked.script else asked.lab,
        provider=asked.provider,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        replay=asked.replay() if asked.script is None else f"stormpool replay {path}",
    )


def _must_be_gone(nodes: Nodes) -> None:
    left = nodes.left_behind()
    if left:
        raise MachineError("the lab left behind on this host: " + ", ".join(left))


def _ready_provider(asked: Asked) -> Provider:
    """The provider asked for, on a host that can hold the lab.

    Raises `Unavailable` where it offers less than the lab needs, `Misuse` where the host cannot.
    """
    provider = provider_named(asked.provider)
    must_offer(provider, asked.lab)
    missing = provider.missing()
    if missing:
        raise Misuse("this machine cannot run a lab: " + "; ".join(missing), fix="see `stormpool doctor`")
    capacity.must_hold(asked.lab, provider.takes(asked.lab))
    return provider


def must_offer(provider: Provider, lab: Lab) -> None:
    """Raise `Unavailable` where a provider lacks what a lab needs."""
    lacking = sorted(lab.needs - provider.capabilities)
    if lacking:
        able = [name for name, make in PROVIDERS.items() if lab.needs <= make().capabilities]
        raise Unavailable(
            f"the scenario's LAB needs nodes that {'; '.join(lacking)}; those of {provider.name} do not\n"
            f"  fix: run it with --provider {' or '.join(able) or '(none that is here offers it)'}"
        )


def provider_named(name: str) -> Provider:
    """A provider. Raises `Misuse` when there is none of that name."""
    asked = MOST.fullmatch(name)
    if asked is None or asked["name"] not in PROVIDERS:
        known = ", ".join(PROVIDERS)
        raise Misuse(
            f"no provider is named {name!r}",
            fix=f"name one of: {known}; with the most nodes it is to bring up, as in vagrant:1+2",
        )
    return PROVIDERS[asked["name"]]()


def finish(directory: RunDirectory, about: About) -> None:
    """Write what the run came to: its timings, and the report."""
    history = directory.read_history()
    verdicts = directory.read_verdicts()
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


def slug(scenario: str) -> str:
    """A scenario's name as part of a directory's."""
    name = Path(scenario.partition("::")[0]).name.removesuffix(".py").removeprefix("test_")
    return re.sub(r"[^\w.-]+", "-", name)[:60] or "lab"
