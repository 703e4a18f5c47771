"""Samples keep every rule for device plugins and task drivers, and each rule names a fault one was given."""

from __future__ import annotations

import json
import queue
import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness import CommandLine
from stormpool import programs
from stormpool.conform import results, suite
from stormpool.conform.external import beginning, configuring, ending
from stormpool.conform.external import bench as external_bench
from stormpool.conform.external.bench import Asked
from stormpool.conform.external.device import bench as device_bench
from stormpool.conform.external.device import fingerprint
from stormpool.conform.external.device import rules as device_rules
from stormpool.conform.external.device.bench import DeviceBench
from stormpool.conform.external.driver import bench as driver_bench
from stormpool.conform.external.driver import (
    beside,
    crashes,
    failing,
    life,
    many,
    offers,
    recovery,
    stopping,
    task,
)
from stormpool.conform.external.driver import rules as driver_rules
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import TaskAsked
from stormpool.conform.external.plugin import Command
from stormpool.conform.judging import nodes_up
from stormpool.conform.results import Outcome, Result
from stormpool.conform.rule import Rule, picked
from stormpool.goplugin import drive
from stormpool.node import Nodes
from stormpool.programs import FIXTURES
from stormpool.providers.netns import Netns

pytestmark = pytest.mark.lab

HERE = Path(__file__).parent
Judged = dict[str, Future[list[Result]]]
NODES = 4  # with a plugin each, at the same time
ALL: dict[str, tuple[Rule[Any], ...]] = {"device": device_rules.ALL, "driver": driver_rules.ALL}


def of(family: str, *which: str) -> list[str]:
    return [f"{family}: {each}" for each in which]


@dataclass(frozen=True)
class Faulty:
    """A sample with a fault, and the rules that must name it."""

    kind: str
    fault: str
    breaks: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}-{self.fault or 'good'}"


def device(fault: str, *breaks: str) -> Faulty:
    return Faulty("device", fault, breaks)


def driver(fault: str, *breaks: str) -> Faulty:
    return Faulty("driver", fault, breaks)


# Of the rules for both kinds one sample is enough.
FAULTY = [
    device("chatter", "the first line"),
    device("no_cookie", *of("not by hand", "no cookie", "another cookie")),
    device("not_serving", "it serves"),
    device("no_version", "it says what it is"),
    device("no_kind", "it says what it is"),
    device("empty_schema", "what can be configured"),
    device("no_type", "what can be configured"),
    device("no_type_of_all", "what can be configured"),
    device("no_label", "what can be configured"),
    device("configured_once", "configured twice"),
    device("gullible", *of("a wrong configuration", "no MessagePack", "no object")),
    device("exclusive", "tried beside it"),
    device("few_at_once", "many calls at once"),
    device("knows_all", *of("it says what it does not know", "a call", "a service")),
    device("no_output", "its output may be asked for"),
    device("leaky_streams", "cancelled streams end"),
    device("ends", "streams go on"),
    device("numbers", "its log can be read"),
    device("deaf", "it ends when told to"),
    device("litter", "it takes its files along"),
    device("ignores_term", "it ends by sigterm"),
    device("dies_of_interrupt", "an interrupt is not for it"),
    device("lock_file", "it can be killed"),
    device("shares_output", "its outputs are its own"),
    device("late", "devices are told of soon"),
    device("nameless", "devices are complete"),
    device("strange_unit", "devices are complete"),
    device("unit_of_text", "devices are complete"),
    device("no_value", "devices are complete"),
    device("twins", "ids are unique"),
    device("fickle", "ids stay"),
    device("repeats", "nothing is told twice"),
    device("reserves_none", "one device", "several devices"),
    device("one_at_a_time", "several devices"),
    device("dies_of_none", "no devices"),
    device("accepts_all", "an unknown device"),
    device("once_only", "reserved again"),
    device("unlocked", "reserved at once"),
    device("no_mount", "mounts are there"),
    device("no_special", "special files are there"),
    device("no_name", "variables have names"),
    device("hides", "what is reserved is told of"),
    device("needs_fingerprint", "reserved before all"),
    device("takes_back", "what was reserved stays"),
    device("half_done", "killed while reserving"),
    device("slow_statistics", "statistics come in time"),
    device("others_statistics", "statistics are of its devices"),
    device("timeless", "statistics have their time"),
    driver("empty_task_schema", "what tasks can be told"),
    driver("strange_type", "what can be configured", "what tasks can be told"),
    driver("fickle_capabilities", "what it can do"),
    driver("unhealthy", "its health"),
    driver("no_health", "its health"),
    driver("healthy_once", "its health again"),
    driver("starts_nothing", "a task"),
    driver("tells_wrong_codes", *of("the exit code", "0", "7", "255")),
    driver("tells_no_signals", *of("the signal", "KILL", "TERM")),
    driver("no_handle", "what finds it again"),
    driver("one_waiter", "waited for by several"),
    driver("forgets_stopped", "waited for once it was stopped"),
    driver("starts_twice", "started twice", *of("killed during", "StartTask")),
    driver("destroys_all", "destroyed while it runs"),
    driver("remembers", "forgotten"),
    driver("one_pipe", "its output"),
    driver("loses_output", "much output"),
    driver("no_variables", "its variables"),
    driver("wrong_directories", "its directories"),
    driver("no_mounts", "a mount", "a mount to read"),
    driver("leaves_mounts", "a mount"),
    driver("all_writable", "a mount to read"),
    driver("no_user", "its user"),
    driver("own_signal", *of("stopped by", "SIGTERM", "SIGUSR1")),
    driver("never_stops", *of("stopped by", "the driver's own")),
    driver("patient", "killed after its time"),
    driver("returns_early", "stopped is dead"),
    driver("waits_for_ever", "stopped when it has ended"),
    driver("strict", "an unknown task is stopped"),
    driver("spares_children", "its children end with it"),
    driver("sends_nothing", "a signal"),
    driver("dies_of_signals", "no such signal"),
    driver("tells_no_codes", "a command"),
    driver("no_result", "what is known"),
    driver("no_state", "what is known"),
    driver("silent_statistics", "what it uses"),
    driver("endless_statistics", "statistics end with it"),
    driver("leaky_start", *of("a start that fails", "no such command", "no configuration", "no mount")),
    driver("fails_to_destroy", "an unknown task is destroyed"),
    driver("vague", *of("an unknown task", "WaitTask", "InspectTask", "SignalTask", "TaskStats")),
    driver(
        "finds_nothing",
        *of("found again", "killed", "told to end"),
        *of("killed after", "StartTask", "RecoverTask", "SignalTask"),
        *of("killed during", "StopTask", "RecoverTask"),
    ),
    driver("forgets_ends", "ended meanwhile"),
    driver("finds_once", "found though known"),
    driver("believes", "what is gone"),
    driver("dies_of_handles", "what cannot be read"),
    driver("takes_any_handle", "what cannot be read"),
    driver("lingers", *of("killed after", "StopTask", "WaitTask")),
    driver("lazy", *of("killed after", "DestroyTask")),
    driver("few_threads", "tasks at once"),
    driver("leaks_files", "one after another"),
]
# What is waited for, in seconds, and where: a constant is each module's own that imports it.
SOONER = [
    ("FIRST_WITHIN", 2.0, (device_bench, fingerprint, driver_bench, offers)),
    ("PATIENCE", 3.0, (task, beside, crashes, driver_bench, failing, life, many, offers, recovery, stopping)),
    ("RPC_TIMEOUT", 5.0, (drive,)),
    ("LISTENED", 1.0, (fingerprint,)),
    ("GONE_WITHIN", 1.5, (external_bench, configuring, ending, task)),
    ("TERM_WITHIN", 2.5, (ending,)),
    ("REFUSES_WITHIN", 5.0, (beginning,)),
]
# What is otherwise than in the samples, and right: these rules must not accuse it.
RESERVING = ("one device", "several devices", "reserved again", "reserved at once", "mounts are there")
RIGHT = [
    driver("needs_topology", "configured twice", "a task"),
    driver("needs_cgroup", "a task", "tasks at once", *of("found again", "killed")),
    device("reads_lists", *of("a wrong configuration", "no MessagePack", "no object")),
    driver("stateless", *of("found again", "killed", "told to end"), "what cannot be read"),
    driver("seldom", "what can be configured", "configured twice", "what tasks can be told", "a task"),
    device("one_ill", *RESERVING, "killed while reserving"),
    device("falls_ill", "it serves", "configured twice", *RESERVING),
    driver("unveiled", "what it can do", "a task", "its directories"),
]
ILL = device("all_ill", *RESERVING)
GOOD = [device(""), driver("")]


def asked(faulty: Faulty, node: str) -> Asked:
    argv = (sys.executable, str(HERE / f"faulty_{faulty.kind}.py"))
    return Asked(Command(argv, {"FAULT": faulty.fault}), node=node)


def bench(nodes: Nodes, faulty: Faulty, node: str, logs: Path) -> Any:
    if faulty.kind == "device":
        return DeviceBench(nodes, asked(faulty, node), logs)
    return DriverBench(nodes, asked(faulty, node), logs, TaskAsked(user="nobody"))


@pytest.fixture(scope="module", autouse=True)
def short_of_patience() -> Iterator[None]:
    """Samples are quick; what a faulty one never does is waited for a little."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value, modules in SOONER:
            for module in modules:
                patch.setattr(module, name, value)
        yield


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """What comes of all samples, each on one of several nodes."""
    directory = tmp_path_factory.mktemp("conform")
    free: queue.SimpleQueue[str] = queue.SimpleQueue()
    for number in range(1, NODES + 1):
        free.put(f"client{number}")
    with (
        nodes_up(Netns(), secrets.token_hex(4), directory, NODES) as nodes,
        ThreadPoolExecutor(NODES) as threads,
    ):

        def judge(faulty: Faulty) -> list[Result]:
            node = free.get()
            try:
                chosen = picked(ALL[faulty.kind], faulty.breaks)
                return list(suite.run(chosen, lambda: closing(bench(nodes, faulty, node, directory))))
            finally:
                free.put(node)

        yield {str(each): threads.submit(judge, each) for each in (*GOOD, *RIGHT, ILL, *FAULTY)}


@pytest.mark.parametrize("faulty", FAULTY, ids=str)
def test_a_fault_is_named(faulty: Faulty, judged: Judged) -> None:
    found = judged[str(faulty)].result()
    assert {result.rule for result in found} == set(faulty.breaks)
    assert all(result.outcome is Outcome.BROKEN for result in found), results.table(found)


@pytest.mark.parametrize("good", GOOD, ids=str)
def test_a_good_one_keeps_every_rule(good: Faulty, judged: Judged) -> None:
    found = judged[str(good)].result()
    assert all(result.outcome is Outcome.PASSED for result in found), results.table(found)
    assert not [result for result in found if "left behind" in result.words], results.table(found)


@pytest.mark.parametrize("right", RIGHT, ids=str)
def test_what_is_right_is_not_accused(right: Faulty, judged: Judged) -> None:
    found = judged[str(right)].result()
    assert {result.rule for result in found} == set(right.breaks)
    assert all(result.outcome is Outcome.PASSED for result in found), results.table(found)


def test_no_device_that_is_ill_is_reserved(judged: Judged) -> None:
    found = judged[str(ILL)].result()
    assert {result.outcome for result in found} == {Outcome.NOT_OFFERED}, results.table(found)
    assert all("d0 is not healthy: worn" in result.words for result in found)


def test_every_rule_names_some_fault() -> None:
    named = {rule for faulty in FAULTY for rule in faulty.breaks}
    assert named == {rule.name for rules in ALL.values() for rule in rules}


def test_a_plugin_of_others(stormpool: CommandLine, tmp_path: Path) -> None:
    """Nomad's own example of a device plugin finds no device before it was asked what devices there are."""
    program = programs.ensure(programs.recipe(FIXTURES / "tools" / "nomad-example-device"))
    done = stormpool(
        *("conform", "device", "--plugin", program, "--before", "mkdir /srv/disks; touch /srv/disks/a"),
        *("--config", json.dumps({"dir": "/srv/disks"}), "--except", "nothing is told twice"),
        *("--json", "--junit", tmp_path / "junit.xml", "--logs", tmp_path / "logs"),
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    outcomes = {each["rule"]: each["outcome"] for each in found if each["outcome"] != "passed"}
    assert outcomes == {"several devices": "not offered", "reserved before all": "broken"}
    assert done.returncode == 1
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text()
    assert [path for path in tmp_path.glob("logs/*/plugin-*.err") if "example-fs-device" in path.read_text()]


@pytest.mark.parametrize(("mutant", "outcome"), [("", "passed"), ("stops_too_soon", "broken")])
def test_the_reference_driver_stops_what_it_says_it_stopped(
    stormpool: CommandLine, mutant: str, outcome: str
) -> None:
    env = {**programs.fixture_environment(), "ZFS_DRIVER_MUTANT": mutant}
    done = stormpool(
        *("conform", "driver", "--plugin", f"{sys.executable} -m zfs_driver", "--json"),
        *(word for name, value in env.items() for word in ("--env", f"{name}={value}")),
        *("--rule", "stopped is dead"),
    )
    (found,) = map(json.loads, done.stdout.splitlines())
    assert (found["rule"], found["outcome"]) == ("stopped is dead", outcome)
