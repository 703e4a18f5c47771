"""Faults hit just what they name, at the point they name, on real agents; and what was broken is mended."""

from pathlib import Path

import pytest

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import RunHistory
from stormpool.history import Call, Fault, Gone, Reply, Rpc
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.verdict import Outcome

pytestmark = pytest.mark.lab

SECOND = 10**9


def run(out: Path, plan: Plan, volumes: int) -> RunHistory:
    """Attach and detach each volume once while the plan is carried out."""
    lab = Lab(servers=1, clients=2, plugins=[csi.zfs()])
    with running(Asked(lab=lab, scenario="faults", out=out, seed=1)) as cluster:
        made = cluster.create_volumes(volumes)
        return cluster.run(workloads.attach_detach(made, per_volume=1, timeout=40), plan, settle=30)


def steps(history: RunHistory) -> list[tuple[int, str]]:
    """What became of each planned fault."""
    return sorted((event.id, event.step) for event in history.of(Fault))


def hit(history: RunHistory, number: int) -> Rpc:
    """The call that a fault was about."""
    (name,) = {event.rpc for event in history.of(Fault) if event.id == number and event.step == "injected"}
    return next(each for each in history.rpcs() if each.call.id == name)


def test_faults_about_calls(tmp_path: Path) -> None:
    plan = (
        nemesis.on(rpc("NodeStageVolume", volume="vol1").before, faults.DelayCall(1.0))
        + nemesis.on(rpc("ControllerPublishVolume", volume="vol2").before, faults.FailCall())
        + nemesis.on(rpc("NodePublishVolume", volume="vol3").answered, faults.LoseAnswer())
        + nemesis.on(rpc("ControllerUnpublishVolume", volume="vol4").before, faults.DuplicateCall())
        + nemesis.on(rpc("NodeUnstageVolume", volume="vol5").answered, faults.HangCall(), heal_after=2.0)
        + nemesis.on(rpc("NodeStageVolume", volume="nobody").before, faults.FailCall())
    )
    history = run(tmp_path, plan, volumes=5)
    planned, injected = [(each, "planned") for each in range(6)], [(each, "injected") for each in range(5)]
    healed = [(each, "healed") for each in range(5)]
    assert steps(history) == sorted([*planned, *injected, *healed])

    delayed, refused, lost, copied, hung = (hit(history, number) for number in range(5))
    assert delayed.call.volume == "vol1"
    assert SECOND <= delayed.call.sent - delayed.call.t < 2 * SECOND
    assert (refused.call.volume, refused.call.sent) == ("vol2", 0)
    assert isinstance(refused.end, Reply)
    assert (refused.end.by, refused.end.code) == ("tap", "UNAVAILABLE")
    assert isinstance(lost.end, Reply)
    assert (lost.call.volume, lost.end.code, lost.end.told) == ("vol3", "OK", 0)
    assert (copied.call.volume, copied.ok) == ("vol4", True)
    assert isinstance(hung.end, Reply)
    assert hung.call.volume == "vol5"
    assert hung.end.told - hung.end.t >= 2 * SECOND
    others = [each for each in history.rpcs() if each.call.volume == "vol1" and each is not delayed]
    assert all(each.ok and each.call.sent - each.call.t < SECOND for each in others)


def test_a_plugin_killed_before_its_answer_is_heard(tmp_path: Path) -> None:
    trigger = rpc("ControllerPublishVolume").nth(2).answered
    history = run(tmp_path, nemesis.on(trigger, faults.KillPlugin()), volumes=2)
    assert steps(history) == [(0, "healed"), (0, "injected"), (0, "planned")]
    killed = hit(history, 0)
    injected = next(event for event in history.of(Fault) if event.step == "injected")
    assert injected.subject == killed.call.node
    assert isinstance(killed.end, Reply | Gone)
    probes = [each for each in history.of(Call) if each.method == "Probe" and each.node == killed.call.node]
    assert any(each.t > injected.t for each in probes), "its agent has not started it again"
    assert guarantees.one_writer_a_volume(history).outcome is not Outcome.INVALID


def test_an_agent_killed_in_the_middle_of_a_call(tmp_path: Path) -> None:
    trigger = rpc("NodePublishVolume", volume="vol1").during
    plan = nemesis.on(trigger, faults.KillAgent(target.serving()), heal_after=1.0)
    history = run(tmp_path, plan, volumes=2)
    assert steps(history) == [(0, "healed"), (0, "injected"), (0, "planned")]
    given_up = hit(history, 0)
    assert isinstance(given_up.end, Gone | Reply)
    assert not (isinstance(given_up.end, Reply) and given_up.end.told)
    assert guarantees.claims_match_reality(history).outcome is Outcome.VALID
