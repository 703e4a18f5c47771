"""The reference plugin keeps every rule for CSI plugins, and each rule names a fault that was built into it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stormpool.conform import results, suite
from stormpool.conform.csi import life, rules, sanity
from stormpool.conform.csi.bench import Asked, nodes_up, set_up
from stormpool.conform.results import Outcome
from stormpool.conform.rule import picked
from stormpool.node import Nodes
from stormpool.plugins import csi
from stormpool.providers.netns import Netns

pytestmark = pytest.mark.lab

SOON = 1.0  # seconds that a call is repeated for which will never be OK
NODE_UP = ("NodeStageVolume", "NodePublishVolume")
UNDO = life.DOWN[:-1]  # but for DeleteVolume, of which csi-sanity asks it


def of(family: str, *calls: str) -> list[str]:
    return [f"{family}: {call}" for call in calls]


@dataclass(frozen=True)
class Faulty:
    """A plugin with a fault, and the rules that must name it."""

    mutant: str
    breaks: list[str]
    kind: str = "dataset"
    latency: float = 0.0


FAULTY = [
    Faulty(
        "nameless_create",
        [
            *of("repeated", "CreateVolume"),
            *of("repeated after a crash", "CreateVolume"),
            *of("at once", "CreateVolume"),
        ],
    ),
    Faulty(
        "fickle_context",
        [
            *of("repeated", "ControllerPublishVolume"),
            *of("repeated after a crash", "ControllerPublishVolume"),
            *of("at once", "ControllerPublishVolume"),
        ],
    ),
    Faulty(
        "blind_mount",
        [*of("repeated", *NODE_UP), *of("repeated after a crash", *NODE_UP), *of("at once", *NODE_UP)],
    ),
    Faulty("no_lock", of("at once", *life.UP[1:]), kind="attach", latency=0.05),
    Faulty("no_lock", of("at once", "CreateVolume", "DeleteVolume")),
    Faulty(
        "strict_undo",
        [
            *of("repeated", *life.DOWN),
            *of("repeated after a crash", *life.DOWN),
            *of("at once", *life.DOWN),
            *of("undone though never done", *UNDO),
            *of("undone though deleted", *UNDO),
        ],
        kind="attach",
    ),
    Faulty(
        "trusting",
        [
            *of("a deleted volume", *NODE_UP),
            *of("no access type", *life.UP),
            "no staging path",
            "not staged",
            "deleted while published",
            "published otherwise",
        ],
    ),
    Faulty("wrong_volume", ["volumes at once"]),
    Faulty("amnesia", of("killed after", *life.UP, "the file is written", *UNDO)),
    Faulty("forgetful_unstage", of("killed after", "NodeUnstageVolume")),
    Faulty("stale_socket", of("killed after", "DeleteVolume")),
    Faulty("stale_lock", of("killed during", *life.ALL), latency=0.05),
    Faulty("leaky_unstage", ["nothing is left"], kind="attach"),
    Faulty("idle_process", ["nothing is left"]),
]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with nodes_up(Netns(), secrets.token_hex(4), tmp_path_factory.mktemp("conform")) as up:
        yield up


@pytest.mark.parametrize("kind", ["attach", "dataset"])
def test_the_reference_plugin_keeps_every_rule(kind: str, nodes: Nodes, tmp_path: Path) -> None:
    with set_up(nodes, Asked(csi.zfs(kind=kind)), tmp_path) as bench:
        found = list(suite.run(picked(rules.ALL, [], [sanity.NAME]), bench))
    assert all(result.outcome is Outcome.PASSED for result in found), results.table(found)
    assert not [result for result in found if "left behind" in result.words], results.table(found)


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda faulty: f"{faulty.mutant}-{faulty.kind}")
def test_a_faulty_plugin_is_named(faulty: Faulty, nodes: Nodes, tmp_path: Path) -> None:
    plugin = csi.zfs(kind=faulty.kind, mutant=faulty.mutant, latency=faulty.latency)
    with set_up(nodes, Asked(plugin, patience=SOON), tmp_path) as bench:
        found = list(suite.run(picked(rules.ALL, faulty.breaks), bench))
    assert len(found) == len(faulty.breaks)
    assert all(result.outcome is Outcome.BROKEN for result in found), results.table(found)


def test_every_rule_of_ours_names_some_fault() -> None:
    named = {rule for faulty in FAULTY for rule in faulty.breaks}
    assert named == {rule.name for rule in rules.ALL} - {sanity.NAME}
