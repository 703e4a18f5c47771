"""The reference plugin keeps every rule for CSI plugins, and each rule names a fault built into it."""

from __future__ import annotations

import json
import secrets
import shlex
import signal
import subprocess
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import pytest
from msgspec import structs

from harness import CommandLine, command
from stormpool import programs
from stormpool.conform import results, suite
from stormpool.conform.csi import life, rules, sanity
from stormpool.conform.csi.bench import Asked, set_up
from stormpool.conform.judging import nodes_up
from stormpool.conform.results import Outcome, Result
from stormpool.conform.rule import picked
from stormpool.lab import CsiPlugin
from stormpool.node import Nodes
from stormpool.plugins import csi
from stormpool.programs import FIXTURES
from stormpool.providers.netns import Netns

pytestmark = pytest.mark.lab

NODES = 3  # on which plugins are judged at the same time
PATIENT = 10.0  # seconds that a call is repeated for which will be OK
SOON = 1.0  # seconds that a call is repeated for which will never be OK
NODE_UP = ("NodeStageVolume", "NodePublishVolume")
UNDO = life.DOWN[:-1]  # but for DeleteVolume, of which csi-sanity asks it


def of(family: str, *calls: str) -> tuple[str, ...]:
    return tuple(f"{family}: {call}" for call in calls)


@dataclass(frozen=True)
class Faulty:
    """A plugin with a fault, and the rules that must name it."""

    mutant: str
    breaks: tuple[str, ...]
    kind: str = "dataset"
    latency: float = 0.0


FAULTY = [
    Faulty(
        "nameless_create",
        (
            *of("repeated", "CreateVolume"),
            *of("repeated after a crash", "CreateVolume"),
            *of("at once", "CreateVolume"),
        ),
    ),
    Faulty(
        "fickle_context",
        (
            *of("repeated", "ControllerPublishVolume"),
            *of("repeated after a crash", "ControllerPublishVolume"),
            *of("at once", "ControllerPublishVolume"),
        ),
    ),
    Faulty(
        "blind_mount",
        (*of("repeated", *NODE_UP), *of("repeated after a crash", *NODE_UP), *of("at once", *NODE_UP)),
    ),
    Faulty("no_lock", of("at once", "ControllerPublishVolume"), kind="attach", latency=0.05),
    Faulty("no_lock", of("at once", "CreateVolume"), latency=0.2),
    Faulty(
        "strict_undo",
        (
            *of("repeated", *life.DOWN),
            *of("repeated after a crash", *life.DOWN),
            *of("at once", *life.DOWN),
            *of("undone though never done", *UNDO),
            *of("undone though deleted", *UNDO),
        ),
        kind="attach",
    ),
    Faulty(
        "trusting",
        (
            *of("a deleted volume", *NODE_UP),
            *of("no access type", *life.UP),
            "no staging path",
            "not staged",
            "deleted while published",
            "published otherwise",
        ),
    ),
    Faulty("wrong_volume", ("volumes at once",)),
    Faulty("amnesia", of("killed after", *life.UP, "the file is written", *UNDO)),
    Faulty("forgetful_unstage", ("files are kept",)),
    Faulty("undead", of("killed after", "DeleteVolume")),
    Faulty("stale_socket", ("comes back",)),
    Faulty("stale_lock", of("killed during", *life.ALL), latency=0.05),
    Faulty("leaky_unstage", ("nothing is left",), kind="attach"),
    Faulty("idle_process", ("nothing is left",)),
]
HEALTHY = [Faulty("", (), kind) for kind in ("attach", "dataset")]
# What fails with nothing killed was not broken by a crash.
NEVER_STAGES = Faulty("never_stages", of("killed after", *life.ALL))


def judged(faulty: Faulty, nodes: Nodes, node: str, logs: Path) -> list[Result]:
    """What comes of a plugin on a node, with volumes that no plugin of another node sees."""
    plugin = csi.zfs(kind=faulty.kind, mutant=faulty.mutant, latency=faulty.latency)
    argv = tuple(word.replace("{cloud}", f"{{cloud}}/{{node}}-{faulty.mutant}") for word in plugin.argv)
    asked = Asked(structs.replace(plugin, argv=argv), patience=SOON if faulty.mutant else PATIENT)
    chosen = picked(rules.ALL, faulty.breaks, [sanity.NAME])
    return list(suite.run(chosen, lambda: set_up(nodes, asked, logs, node)))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[Faulty, list[Result]]:
    """What comes of every plugin: the longest first, each on whichever node is free."""
    logs = tmp_path_factory.mktemp("conform")
    free: SimpleQueue[str] = SimpleQueue()

    def judge(faulty: Faulty) -> tuple[Faulty, list[Result]]:
        node = free.get()
        try:
            return faulty, judged(faulty, nodes, node, logs)
        finally:
            free.put(node)

    with nodes_up(Netns(), secrets.token_hex(4), logs, NODES) as nodes, ThreadPoolExecutor(NODES) as threads:
        for name in nodes.nodes:
            if name.startswith("client"):
                free.put(name)
        return dict(threads.map(judge, [*HEALTHY, *FAULTY, NEVER_STAGES]))


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda healthy: healthy.kind)
def test_the_reference_plugin_keeps_every_rule(healthy: Faulty, found: dict[Faulty, list[Result]]) -> None:
    came = found[healthy]
    assert len(came) == len(rules.ALL) - 1
    assert all(result.outcome is Outcome.PASSED for result in came), results.table(came)
    assert not [result for result in came if "left behind" in result.words], results.table(came)


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda faulty: f"{faulty.mutant}-{faulty.kind}")
def test_a_faulty_plugin_is_named(faulty: Faulty, found: dict[Faulty, list[Result]]) -> None:
    came = found[faulty]
    assert {result.rule for result in came} == set(faulty.breaks)
    assert all(result.outcome is Outcome.BROKEN for result in came), results.table(came)


def test_what_never_worked_was_not_broken_by_a_crash(found: dict[Faulty, list[Result]]) -> None:
    came = found[NEVER_STAGES]
    offered = [result for result in came if result.outcome is not Outcome.NOT_OFFERED]
    assert {result.outcome for result in offered} == {Outcome.NOT_JUDGED}, results.table(came)
    assert all("nothing is staged here" in result.words for result in offered), results.table(came)


def test_every_rule_of_ours_names_some_fault() -> None:
    named = {rule for faulty in FAULTY for rule in faulty.breaks}
    assert named == {rule.name for rule in rules.ALL} - {sanity.NAME}


def command_line(mutant: str, *argv: str | Path) -> list[str | Path]:
    """The command on the reference plugin."""
    plugin = csi.zfs(kind="dataset", mutant=mutant)
    env = [f"{name}={value}" for name, value in plugin.env.items()]
    return ["conform", "csi", "--plugin", shlex.join(["env", *env, *plugin.argv]), *argv]


def test_the_command_line_tells_in_every_way(stormpool: CommandLine, tmp_path: Path) -> None:
    only = ("--parameters", "kind=dataset", "--rule", "comes back", "--rule", "files are kept")
    done = stormpool(*command_line("stale_socket", *only, "--junit", tmp_path / "junit.xml"))
    assert done.returncode == 1, done.stderr
    assert "2 rules in" in done.stdout
    assert "1 passed, 1 broken" in done.stdout
    assert ET.parse(tmp_path / "junit.xml").getroot().get("failures") == "1"
    done = stormpool(*command_line("", *only, "--json", "--logs", tmp_path / "logs"))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["outcome"] for line in done.stdout.splitlines()] == ["passed", "passed"]
    assert "serving monolith of client1" in (tmp_path / "logs" / "plugin.log").read_text()
    assert stormpool("status").stdout == "no lab is up\n"


def test_a_controller_alone_is_not_asked_what_nodes_do(stormpool: CommandLine) -> None:
    argv = [word.replace("{role}", "controller") for word in map(str, command_line("", "--json"))]
    rules_of_both = ("--rule", "csi-sanity", "--rule", "repeated: CreateVolume", "--rule", "files are kept")
    done = stormpool(*argv, "--parameters", "kind=dataset", *rules_of_both)
    assert done.returncode == 0, done.stdout
    came = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["rule"]: each["outcome"] for each in came} == {
        "csi-sanity": "not offered",
        "repeated: CreateVolume": "passed",
        "files are kept": "not offered",
    }


def test_ctrl_c_ends_it_and_leaves_nothing(stormpool: CommandLine) -> None:
    argv = command(*command_line("", "--parameters", "kind=dataset", "--except", "csi-sanity", "--json"))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as going:
        assert going.stdout is not None
        going.stdout.readline()  # the first rule is judged
        going.send_signal(signal.SIGINT)
        said = going.communicate(timeout=60)
    assert going.returncode == 130, said
    assert "interrupted; nothing is left running" in said[1]
    assert stormpool("status").stdout == "no lab is up\n"


def test_a_plugin_that_never_serves_is_the_machines_failure(stormpool: CommandLine) -> None:
    done = stormpool("conform", "csi", "--plugin", "sh -c 'echo no configuration; exit 3'")
    assert done.returncode == 70
    assert "the plugin ended with 3: no configuration" in done.stderr


def test_a_plugin_of_others(tmp_path: Path) -> None:
    """Its controller forgets all volumes, and it unmounts what is not mounted."""
    program = programs.ensure(programs.recipe(FIXTURES / "tools" / "csi-hostpath"))
    argv = (str(program), "--endpoint={endpoint}", "--nodeid={node}")
    asked = Asked(CsiPlugin(id="hostpath", argv=argv), patience=SOON)
    broken = {
        "repeated after a crash: CreateVolume",
        "repeated: NodeUnpublishVolume",
        "undone though never done: NodeUnpublishVolume",
        "a deleted volume: NodePublishVolume",
    }
    kept = {"files are kept", "comes back", "volumes at once", "killed after: NodePublishVolume"}
    offered_not = {"repeated: NodeStageVolume"}
    chosen = picked(rules.ALL, broken | kept | offered_not)
    with nodes_up(Netns(), secrets.token_hex(4), tmp_path) as nodes:
        found = list(suite.run(chosen, lambda: set_up(nodes, asked, tmp_path)))
    by_outcome = {outcome: {each.rule for each in found if each.outcome is outcome} for outcome in Outcome}
    assert by_outcome == {
        Outcome.BROKEN: broken,
        Outcome.PASSED: kept,
        Outcome.NOT_OFFERED: offered_not,
        Outcome.NOT_JUDGED: set(),
    }, results.table(found)
