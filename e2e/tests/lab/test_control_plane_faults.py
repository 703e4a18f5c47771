"""Faults of the control plane do to the servers' books what they name, and mend it: one lab of Nomad 1.8.0.

A task writes to `vol1`; nobody uses `vol2`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stormpool import faults, target, workloads
from stormpool.agents.api import ApiError
from stormpool.agents.books import claims_of
from stormpool.cluster import Cluster
from stormpool.errors import MachineError
from stormpool.faults import Fault
from stormpool.lab import Lab
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

CLIENT1 = target.node("client1")
HOLDER = target.holder("vol1")
SLOWLY = 40.0  # seconds for a volume to leave one node and reach another


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A lab with a volume that is written to, and another that nobody uses."""
    lab = Lab(servers=3, clients=2, plugins=[csi.zfs()])
    out = tmp_path_factory.mktemp("runs")
    with running(Asked(lab=lab, scenario="control plane faults", nomad="1.8.0", out=out, seed=1)) as up:
        up.create_volumes(2)
        up.submit(workloads.consumer("writer", "vol1", up.task_driver))
        yield up


@pytest.fixture
def scene(cluster: Cluster) -> Scene:
    """No call sets these faults off."""
    made = Scene(cluster)
    writer(cluster)
    return made


def writer(cluster: Cluster, *, but: str = "") -> dict[str, Any]:
    """The allocation of the task that writes, once it runs and holds the volume; another than `but`."""

    def running_ones(stubs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in stubs if each["ClientStatus"] == "running" and each["ID"] != but]

    stubs = cluster.api().until(
        "job/writer/allocations", lambda seen: bool(running_ones(seen)), timeout=SLOWLY
    )
    (stub,) = running_ones(stubs)
    cluster.api().until("volume/csi/vol1", lambda seen: claims_of(seen) == [stub["ID"]], timeout=SLOWLY)
    return dict(stub)


def writes(cluster: Cluster) -> set[str]:
    """The clients on which a task has the volume mounted for writing, by the kernel's word."""
    return {
        node.spec.name
        for node in cluster.clients()
        if any("vol1" in seen.writes for seen in cluster.look(node.spec.name).processes)
    }


def nodes(cluster: Cluster) -> dict[str, tuple[str, str, bool]]:
    """What the servers say of the clients."""
    return {
        seen["Name"]: (seen["Status"], seen["SchedulingEligibility"], seen["Drain"])
        for seen in cluster.ask("nodes")
    }


OVER = {"complete", "canceled"}
WELL = ("ready", "eligible", False)


def test_a_node_that_is_drained(scene: Scene, cluster: Cluster) -> None:
    before = writer(cluster)
    fault = faults.DrainNode(HOLDER, ignore_system_jobs=True)
    assert fault.inject(scene) == before["NodeName"]
    after = writer(cluster, but=before["ID"])
    assert after["NodeName"] != before["NodeName"]
    assert writes(cluster) == {after["NodeName"]}
    assert nodes(cluster)[before["NodeName"]][1] == "ineligible"
    fault.heal(scene)
    fault.heal(scene)
    assert set(nodes(cluster).values()) == {WELL}


def test_a_node_on_which_nothing_is_placed(scene: Scene, cluster: Cluster) -> None:
    before = writer(cluster)
    fault = faults.MakeIneligible(HOLDER)
    fault.inject(scene)
    assert nodes(cluster)[before["NodeName"]] == ("ready", "ineligible", False)
    assert writes(cluster) == {before["NodeName"]}
    faults.StopAllocation("vol1").inject(scene)
    assert writer(cluster, but=before["ID"])["NodeName"] != before["NodeName"]
    fault.heal(scene)
    fault.heal(scene)
    assert set(nodes(cluster).values()) == {WELL}


def test_an_allocation_that_is_restarted(scene: Scene, cluster: Cluster) -> None:
    before = writer(cluster)
    assert faults.RestartAllocation("vol1").inject(scene) == before["ID"]
    wait_until(
        "its task was restarted",
        lambda: cluster.ask(f"allocation/{before['ID']}")["TaskStates"]["writer"],
        lambda task: task["Restarts"] == 1 and task["State"] == "running",
        timeout=20,
    )
    assert writer(cluster)["ID"] == before["ID"]


def test_a_leader_that_hands_over(scene: Scene, cluster: Cluster) -> None:
    led = scene.node(target.leader())
    name = faults.TransferLeadership().inject(scene)
    assert name != led
    assert scene.node(target.leader()) == name
    faults.TransferLeadership(target.node(led)).inject(scene)
    assert scene.node(target.leader()) == led


def test_agents_that_hand_leadership_to_nobody(tmp_path: Path) -> None:
    asked = Asked(lab=Lab(servers=3, clients=0), scenario="old", nomad="1.6.1", out=tmp_path, seed=1)
    with running(asked) as old, pytest.raises(MachineError, match="this version hand leadership to nobody"):
        faults.TransferLeadership().inject(Scene(old))


def test_a_volume_that_the_servers_forget(scene: Scene, cluster: Cluster) -> None:
    had = cluster.ask("volume/csi/vol2")
    fault = faults.DeregisterVolume("vol2")
    fault.inject(scene)
    assert cluster.api().find("volume/csi/vol2") is None
    fault.heal(scene)
    fault.heal(scene)
    has = cluster.ask("volume/csi/vol2")
    own = {key for key in had if key.endswith(("Index", "Time"))}  # the servers' own
    assert {key: has[key] for key in has if key not in own} == {
        key: had[key] for key in had if key not in own
    }
    assert not list(cluster.turn.directory.path.glob("deregistered-*"))


def test_a_volume_that_is_in_use_is_not_forgotten(scene: Scene, cluster: Cluster) -> None:
    for fault in (faults.DeregisterVolume("vol1"), faults.DeregisterVolume("vol1", force=True)):
        with pytest.raises(ApiError, match="in use"):
            fault.inject(scene)
        fault.heal(scene)
    assert cluster.ask("volume/csi/vol1")["ExternalID"] == "vol1"


@pytest.mark.parametrize(
    "fault", [faults.DetachVolume("vol1"), faults.DetachVolume("vol2", CLIENT1)], ids=repr
)
def test_agents_that_detach_nothing(scene: Scene, cluster: Cluster, fault: Fault) -> None:
    before = writes(cluster)
    with pytest.raises(ApiError, match="Unknown allocation"):
        fault.inject(scene)
    assert writes(cluster) == before


def test_garbage_that_is_collected(scene: Scene, cluster: Cluster) -> None:
    cluster.submit({**workloads.consumer("gone", "vol2", cluster.task_driver), "Datacenters": ["none"]})
    cluster.api().delete("job/gone")
    cluster.api().until(
        "job/gone/evaluations", lambda seen: {each["Status"] for each in seen} <= OVER, timeout=SLOWLY
    )
    faults.CollectGarbage().inject(scene)
    wait_until(
        "it is collected", lambda: cluster.api().find("job/gone"), lambda seen: seen is None, timeout=20
    )


def test_a_node_that_the_servers_forget(scene: Scene, cluster: Cluster) -> None:
    """A client that lives may have registered again before one looks: as a node made anew."""

    def made() -> dict[str, int]:
        return {seen["Name"]: seen["CreateIndex"] for seen in cluster.ask("nodes")}

    before = made()
    fault = faults.PurgeNode(CLIENT1)
    assert fault.inject(scene) == "client1"
    assert made().get("client1") != before["client1"]
    fault.heal(scene)
    fault.heal(scene)
    assert set(nodes(cluster).values()) == {WELL}
    after = made()
    assert after["client1"] > before["client1"]
    assert after["client2"] == before["client2"]
