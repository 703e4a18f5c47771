"""Every checker turns red on a plugin with a fault built in, and names it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from stormpool import guarantees, workloads
from stormpool.events import Operation
from stormpool.lab import Lab
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.verdict import Guarantee, Outcome

pytestmark = pytest.mark.lab


@dataclass(frozen=True)
class Case:
    """A mutant, and what must catch it, with words that a witness must have."""

    mutant: str
    caught_by: dict[Guarantee, str]
    volumes: int = 1
    clients: int = 1


CASES = [
    Case("uneven_capabilities", {guarantees.lifecycle_order: "was not staged"}, clients=2),
    Case(
        "stuck_detach",
        {
            guarantees.claims_match_reality: "is claimed by allocation",
            guarantees.published_is_unpublished: "was never undone",
            guarantees.progress: "calls of ControllerUnpublishVolume of vol1 failed",
        },
    ),
    Case("leaky_unstage", {guarantees.nothing_left_behind: "was still imported"}),
    Case("forgetful_unstage", {guarantees.no_acknowledged_write_is_lost: "vol1 has 0 of the"}),
    Case("wrong_volume", {guarantees.one_writer_a_volume: "both held"}, volumes=3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.mutant)
def test_a_mutant_is_caught(case: Case, tmp_path: Path) -> None:
    lab = Lab(servers=1, clients=case.clients, plugins=[csi.zfs(mutant=case.mutant)])
    asked = Asked(lab=lab, scenario=f"mutant {case.mutant}", out=tmp_path, seed=1)
    with running(asked) as cluster:
        volumes = cluster.create_volumes(case.volumes)
        cluster.run(workloads.attach_detach(volumes, per_volume=1, timeout=10, node="client1"), settle=5)
        history = cluster.run(workloads.read_back(volumes, timeout=10), settle=1)
    for guarantee, words in case.caught_by.items():
        verdict = guarantee(history)
        assert verdict.outcome is Outcome.INVALID, verdict
        assert any(words in witness.what for witness in verdict.witnesses), verdict


@pytest.mark.nightly
def test_a_volume_that_moves_by_half_is_caught(tmp_path: Path) -> None:
    lab = Lab(servers=1, clients=2, plugins=[csi.zfs(kind="moving", mutant="half_moved")])
    with running(Asked(lab=lab, scenario="half moved", out=tmp_path, seed=1)) as cluster:
        volumes = cluster.create_volumes(1)
        cluster.run(workloads.attach_detach(volumes, per_volume=2, node="client1"), settle=30)
        cluster.run(workloads.hold(volumes, seconds=2, node="client2"), settle=30)
        history = cluster.run(workloads.read_back(volumes, timeout=25), settle=25)
    verdict = guarantees.no_acknowledged_write_is_lost(history)
    assert verdict.outcome is Outcome.INVALID, verdict
    assert any("vol1 has" in witness.what for witness in verdict.witnesses), verdict


def test_a_volume_that_leaves_a_copy_where_it_was_is_caught(tmp_path: Path) -> None:
    lab = Lab(servers=1, clients=2, plugins=[csi.zfs(kind="moving", mutant="keeps_copy")])
    with running(Asked(lab=lab, scenario="keeps copy", out=tmp_path, seed=1)) as cluster:
        volumes = cluster.create_volumes(1)
        cluster.run(workloads.hold(volumes, seconds=1, node="client1"), settle=5)
        history = cluster.run(workloads.hold(volumes, seconds=1, node="client2"), settle=5)
    assert {each.error for each in history.of(Operation)} == {""}
    verdict = guarantees.one_pool_a_volume(history)
    assert verdict.outcome is Outcome.INVALID, verdict
    assert "vol1 was in the pools of client1 and client2" in verdict.why


def test_plugins_that_wait_for_each_other_are_caught(tmp_path: Path) -> None:
    slow = csi.zfs(id="slow", latency=9.0, mutant="shared_lock")
    quick = csi.zfs(id="quick", mutant="shared_lock")
    asked = Asked(lab=Lab(clients=2, plugins=[slow, quick]), scenario="shared lock", out=tmp_path, seed=1)
    with running(asked) as cluster:
        first = cluster.create_volumes(1, plugin="slow")
        second = cluster.create_volumes(1, plugin="quick")
        history = cluster.run(
            workloads.attach_detach(first, per_volume=1, timeout=30, node="client1"),
            workloads.attach_detach(second, per_volume=1, timeout=30, node="client2", after=2.0),
            settle=30,
        )
    verdict = guarantees.plugins_are_independent(history)
    assert verdict.outcome is Outcome.INVALID, verdict
    assert "vol2 of plugin quick" in verdict.why
