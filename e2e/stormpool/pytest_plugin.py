"""The pytest plugin: a scenario's module names its `LAB`, its tests take the `cluster` that comes of it.

pytest scenarios/csi/test_controller_calls_are_serialized.py --nomad=1.6.0 --nomad=1.6.1
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.store import RunDirectory
    from stormpool.track_record import Entry

PROGRESS = "STORMPOOL_PROGRESS_FD"  # environment: where the command line hears of progress
LARGEST_SEED = 2**31
FAILED = pytest.StashKey[BaseException]()
KNOWN: pytest.StashKey[tuple[Entry, str]] = pytest.StashKey()  # what is known of a scenario on its version
INTERRUPTED: list[BaseException] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of scenarios."""
    group = parser.getgroup("stormpool", "labs with real agents")
    group.addoption(
        "--nomad",
        action="append",
        default=[],
        metavar="VERSION|PATH",
        help="the Nomad to run, by version or by the program's path; several times for several",
    )
    group.addoption(
        "--seed", type=int, default=None, help="the seed of what is left to chance; printed with each run"
    )
    group.addoption("--out", type=Path, default=Path("runs"), help="where runs are kept (default: runs)")
    group.addoption(
        "--track-record",
        type=Path,
        default=None,
        metavar="FILE",
        help="what is known to be broken, and must be: see scenarios/track-record.toml",
    )
    group.addoption("--provider", default="netns", help="what nodes are made of (default: netns)")


def pytest_configure(config: pytest.Config) -> None:
    """The markers of scenarios; and one seed for all of them, so that a failure can be run again.

    Where testinfra is asked for nodes of labs (`--hosts=stormpool://...`), it is told how to reach them.
    """
    config.addinivalue_line("markers", "scenario: brings up a lab of real agents")
    if config.getoption("--seed") is None:
        config.option.seed = random.SystemRandom().randrange(LARGEST_SEED)
    hosts = config.getoption("hosts", None)
    if isinstance(hosts, str) and "stormpool://" in hosts:
        config.option.hosts = _known(hosts)


def _known(hosts: str) -> str:
    from stormpool.audit import backend
    from stormpool.errors import Misuse

    try:
        return backend.registered(hosts)
    except Misuse as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed."""
    return f"stormpool: seed {config.getoption('--seed')}, runs in {config.getoption('--out')}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A scenario runs once a version asked for, with the version in its id."""
    if "nomad_version" in metafunc.fixturenames:
        from stormpool.runner import DEFAULT_NOMAD

        wanted = metafunc.config.getoption("--nomad") or [DEFAULT_NOMAD]
        metafunc.parametrize("nomad_version", wanted, ids=lambda version: f"nomad-{version}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what brings up a lab; and what is known to break there, which then must."""
    path = config.getoption("--track-record")
    if path is not None:
        _expect_known(path, items)
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker("scenario")


def _expect_known(path: Path, items: list[pytest.Item]) -> None:
    from stormpool import track_record
    from stormpool.judge import GuaranteeBroken

    record = track_record.read(path)
    for item in items:
        callspec = getattr(item, "callspec", None)
        version = callspec.params.get("nomad_version", "") if callspec else ""
        known = record.of(item.nodeid.partition("[")[0], version)
        if known is not None:
            item.stash[KNOWN] = known, version
            sure = known.always_red(version)
            why = f"known: {known.what}"
            item.add_marker(pytest.mark.xfail(strict=sure, raises=GuaranteeBroken, reason=why))


@pytest.fixture
def nomad_version(request: pytest.FixtureRequest) -> str:
    """The Nomad a scenario runs on."""
    return str(request.param)


@pytest.fixture
def cluster(request: pytest.FixtureRequest, nomad_version: str) -> Iterator[Cluster]:
    """The lab that the scenario's module describes as `LAB`, up and healthy; down and gone afterwards.

    `LABS` describes those of single tests, by name, where they must differ.
    """
    from stormpool.errors import Misuse
    from stormpool.judge import NotJudged
    from stormpool.lab import lab_of
    from stormpool.runner import Asked, running

    lab = lab_of(vars(request.module), request.node.originalname)
    if lab is None:
        raise Misuse(
            f"{request.node.nodeid} takes a cluster, and its module has no `LAB`",
            fix="say which: LAB = Lab(servers=3, clients=3, plugins=[csi.zfs()])",
        )
    options = request.config.option
    asked = Asked(
        lab=lab,
        scenario=_named(request.node),
        nomad=nomad_version,
        seed=options.seed,
        out=options.out,
        provider=options.provider,
    )
    progress = _Progress()
    try:
        with running(asked, progress.tell) as up:
            yield up
            up.failed = next(iter(INTERRUPTED), request.node.stash.get(FAILED, None))
            if up.turn.directory.judged() is None and up.failed is None:
                raise NotJudged(f"{asked.scenario} ended without judging any guarantee")
    finally:
        if progress.run is not None and progress.run.report.exists():
            attach(request, progress.run)


def _named(item: pytest.Item) -> str:
    """A scenario as one would name it here: FILE::TEST, the file seen from the working directory."""
    here, test = Path.cwd(), item.nodeid.partition("[")[0].partition("::")[2]
    path = item.path.relative_to(here) if item.path.is_relative_to(here) else item.path
    return f"{path}::{test}"


def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Remember an interruption as what every test that was going on ended with."""
    INTERRUPTED.append(excinfo.value)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """A lab that cannot be had here is skipped, and the run says so."""
    with _skipping(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What cannot be had here is skipped, and the run says so; a breach beside those known is a failure."""
    from stormpool.judge import GuaranteeBroken

    try:
        with _skipping(item):
            yield
    except GuaranteeBroken as error:
        known = item.stash.get(KNOWN, None)
        if known is not None and (news := known[0].news(error.guarantees, known[1])):
            raise AssertionError(f"{news}: {error}") from error
        raise


@contextlib.contextmanager
def _skipping(item: pytest.Item) -> Iterator[None]:
    """What cannot be had here makes pytest skip."""
    from stormpool.errors import Unavailable

    try:
        yield
    except Unavailable as error:
        item.stash[FAILED] = error
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember what a test ended with: its fixture hears nothing of it, and writes it into the run."""
    report = yield
    if call.when != "teardown" and call.excinfo is not None and FAILED not in item.stash:
        item.stash[FAILED] = call.excinfo.value
    return report


def attach(request: pytest.FixtureRequest, run: RunDirectory) -> None:
    """Tell JUnit and Allure where a run is, and what was judged."""
    from stormpool.report.result import result
    from stormpool.reporter import files

    judged = run.judged()
    told = result(run.about(), run.read_history(), judged.verdicts if judged else [])
    request.node.user_properties += [("run", str(run.path)), *told.parameters, *told.properties]
    if request.config.pluginmanager.has_plugin("allure_listener"):
        from stormpool import allure_results

        allure_results.tell(request.config, told, files(run))


class _Progress:
    """Tells a command line that listens of progress, as lines of JSON; and remembers which run it was."""

    def __init__(self) -> None:
        self.run: RunDirectory | None = None

    def tell(self, run: RunDirectory | None, what: str) -> None:
        """Tell of one step."""
        self.run = run or self.run
        descriptor = os.environ.get(PROGRESS)
        if descriptor is not None:
            line = {"run": str(run.path) if run else None, "what": what}
            with contextlib.suppress(OSError):  # who listened is gone; the run goes on
                os.write(int(descriptor), json.dumps(line).encode() + b"\n")
