"""Faults hit just what they name, at the point they name, on real agents; and what was broken is mended."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.events import Fault, Reply
from stormpool.history import Rpc
from stormpool.judge import RunHistory
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.verdict import Outcome
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

SECOND = 10**9


@contextmanager
def lab(out: Path) -> Iterator[Cluster]:
    """A small lab with the reference plugin."""
    asked = Asked(lab=Lab(servers=1, clients=2, plugins=[csi.zfs()]), scenario="faults", out=out, seed=1)
    with running(asked) as cluster:
        yield cluster


def carry_out(cluster: Cluster, plan: Plan, volumes: int, settle: float = 30.0) -> RunHistory:
    """Attach and detach each volume once while the plan is carried out."""
    made = cluster.create_volumes(volumes)
    return cluster.run(workloads.attach_detach(made, per_volume=1, timeout=40), plan, settle=settle)


def plugins_of(cluster: Cluster) -> dict[str, set[int]]:
    """The plugin's processes on each client."""
    return {
        name: {seen.pid for seen in cluster.look(name).processes if seen.task == "plugin"}
        for name in ("client1", "client2")
    }


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
        + nemesis.on(rpc("NodeUnstageVolume", volume="vol5").answered, faults.HangCall(), heal_after=0.3)
        + nemesis.on(rpc("NodeStageVolume", volume="nobody").before, faults.FailCall())
    )
    with lab(tmp_path) as cluster:
        history = carry_out(cluster, plan, volumes=5)
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
    assert hung.end.told - hung.end.t >= 0.3 * SECOND
    others = [each for each in history.rpcs() if each.call.volume == "vol1" and each.call != delayed.call]
    assert all(each.ok and each.call.sent - each.call.t < SECOND for each in others)


def test_a_plugin_killed_before_its_answer_is_heard(tmp_path: Path) -> None:
    plan = nemesis.on(rpc("ControllerPublishVolume").nth(2).answered, faults.KillPlugin())
    with lab(tmp_path) as cluster:
        before = plugins_of(cluster)
        history = carry_out(cluster, plan, volumes=2)
        assert steps(history) == [(0, "healed"), (0, "injected"), (0, "planned")]
        (where,) = {event.subject for event in history.of(Fault) if event.step == "injected"}
        wait_until(
            "its agent has started it again",
            lambda: plugins_of(cluster),
            lambda now: bool(now[where]) and not now[where] & before[where],
            timeout=30,
        )
    killed = hit(history, 0)
    assert killed.call.node == where
    assert guarantees.one_writer_a_volume(history).outcome is not Outcome.INVALID


def test_an_agent_killed_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """What the agent makes of it is a story's to judge (scenarios/csi); here it is killed, and comes back."""
    trigger = rpc("NodePublishVolume", volume="vol1").during
    plan = nemesis.on(trigger, faults.KillAgent(target.serving()), heal_after=1.0)
    with lab(tmp_path) as cluster:
        history = carry_out(cluster, plan, volumes=2, settle=8)
        assert [node["Status"] for node in cluster.ask("nodes")] == ["ready", "ready"]
    assert steps(history) == [(0, "healed"), (0, "injected"), (0, "planned")]
    interrupted = hit(history, 0)
    assert not (isinstance(interrupted.end, Reply) and interrupted.end.told)
