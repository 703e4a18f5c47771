"""A node that loses its power is gone at once with all in it; booted, it is the same node, same disk."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stormpool import faults, guarantees, nemesis, processes, target, workloads
from stormpool.agents.books import claims_of
from stormpool.cluster import Cluster
from stormpool.errors import MachineError
from stormpool.events import Call, Fault, Observed, Operation
from stormpool.lab import Lab, Role
from stormpool.node import Node
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.verdict import Outcome
from stormpool.wait import wait_until
from stormpool.workloads import attaching
from stormpool.zfs.daemon import DaemonZfs

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One server and two clients with the reference plugin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        lab = Lab(servers=1, clients=2, plugins=[csi.zfs()])
        with running(Asked(lab=lab, scenario="crash", out=tmp_path_factory.mktemp("out"), seed=1)) as up:
            yield up


def ready(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Each client's id and status."""
    return {node["Name"]: (node["ID"], node["Status"]) for node in cluster.ask("nodes")}


def whole(cluster: Cluster) -> bool:
    """Whether every client is ready and its plugin healthy, by the servers' word."""
    seen: dict[str, Any] = cluster.ask("plugin/csi/zfs")
    well = [info["Healthy"] for info in (seen["Nodes"] or {}).values()]
    return well == [True, True] and all(status == "ready" for _, status in ready(cluster).values())


def attach(cluster: Cluster, volume: str, job: str, node: str) -> None:
    """Run a task with a volume on a node."""
    attaching.attach(cluster, workloads.consumer(job, volume, cluster.task_driver, node), volume, 60)


def test_crash_and_boot(cluster: Cluster) -> None:
    (volume,) = cluster.create_volumes(1)
    attach(cluster, volume, "before", "client1")
    node = cluster.nodes["client1"]
    before = ready(cluster)
    node.write("/run/gone", "memory")
    node.write(f"{node.disk}/stays", "disk")
    node.write("/etc/stays", "disk")
    agent, threads = cluster.agents.agents["client1"], threading.active_count()
    fault, scene = faults.CrashNode(target.holder(volume)), Scene(cluster)
    network = network_of(agent.pid)
    assert len(inside(network)) > 10

    assert fault.inject(scene) == "client1"
    assert not node.up
    assert not agent.alive()
    assert processes.started(agent.pid) is None
    assert inside(network) == []
    wait_until(
        "it is down", lambda: ready(cluster)["client1"][1], lambda status: status == "down", timeout=40
    )

    fault.heal(scene)
    fault.heal(scene)
    assert node.run(["test", "-e", "/run/gone"], check=False).code == 1
    assert (node.read(f"{node.disk}/stays"), node.read("/etc/stays")) == ("disk", "disk")
    wait_until("all is well again", lambda: whole(cluster), timeout=60)
    assert ready(cluster)["client1"] == before["client1"]
    assert cluster.api("client1").get("agent/self")["config"]["NodeName"] == "client1"
    assert "tank" in cluster.look("client1").pools

    cluster.api().delete("job/before")
    cluster.api().until(f"volume/csi/{volume}", lambda seen: not claims_of(seen), timeout=60)
    attach(cluster, volume, "after", "client1")
    assert [event.error for event in operations(cluster)][-1] == ""
    cluster.api().delete("job/after")
    cluster.api().until(f"volume/csi/{volume}", lambda seen: not claims_of(seen), timeout=60)
    assert threading.active_count() <= threads + 2


def test_a_node_that_comes_back_halfway_is_down_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one whose ZFS is gone says nothing of its pools, which is not that there are none."""
    node = cluster.nodes["client2"]
    node.run(["kill", "-KILL", str(DaemonZfs(node).pid())])
    wait_until("its ZFS is gone", lambda: cluster.look("client2"), lambda seen: seen.silent, timeout=10)
    fault, scene = faults.CrashNode(target.node("client2")), Scene(cluster)
    fault.inject(scene)

    def fails(node: Node) -> None:
        raise MachineError("its disk does not spin")

    with monkeypatch.context() as patch:
        patch.setattr(cluster, "_start_pool", fails)
        with pytest.raises(MachineError, match="does not spin"):
            fault.heal(scene)
    assert not node.up
    fault.heal(scene)
    assert cluster.look("client2").pools == ["tank"]
    wait_until("all is well again", lambda: whole(cluster), timeout=60)


def network_of(pid: int | str) -> str:
    """Which network namespace a process of this host is in; none when it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def inside(network: str) -> list[str]:
    """What runs on this host in a network namespace."""
    return [path.name for path in Path("/proc").glob("[0-9]*") if network_of(path.name) == network]


def operations(cluster: Cluster) -> list[Operation]:
    """What the workload did so far."""
    return cluster.turn.directory.read_history().of(Operation)


def test_a_crash_while_a_workload_runs(cluster: Cluster) -> None:
    made = cluster.create_volumes(2)
    plan = nemesis.on(
        nemesis.rpc("NodePublishVolume").nth(1).answered, faults.CrashNode(target.serving()), heal_after=1.0
    )
    history = cluster.run(workloads.attach_detach(made, per_volume=2, timeout=40), plan, settle=40)
    assert [event.step for event in history.of(Fault)] == ["planned", "injected", "healed"]
    ids = [call.id for call in history.of(Call)]
    assert len(ids) == len(set(ids)), "the plugin's tap was started anew, and its calls are others"
    (where,) = {event.subject for event in history.of(Fault) if event.step == "injected"}
    crashed = next(event.t for event in history.of(Fault) if event.step == "injected")
    told = [event for event in history.of(Observed) if event.node == where and event.t > crashed]
    assert len([event for event in told if not event.settled]) >= 2, "its observer goes on after the boot"
    wait_until("all is well again", lambda: whole(cluster), timeout=60)
    assert cluster.lab.names(Role.CLIENT) == tuple(sorted(ready(cluster)))
    assert guarantees.one_writer_a_volume(history).outcome is not Outcome.INVALID
