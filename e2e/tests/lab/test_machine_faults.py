"""A cluster on machines: what is broken there and not in namespaces, mended; and set back as a whole."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditing import Audited, audited
from stormpool import faults, pools, programs, target, workloads
from stormpool.agents.api import ApiError
from stormpool.audit import pools as pool_audits
from stormpool.cluster import Cluster
from stormpool.errors import CommandFailed, MachineError
from stormpool.faults import Fault
from stormpool.lab import Lab
from stormpool.node import Node
from stormpool.plugins import csi
from stormpool.providers.vagrant.node import VagrantNode
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.wait import wait_until
from stormpool.workloads import attaching

pytestmark = pytest.mark.lab

CLIENT = target.node("client1")
LAB = Lab(servers=1, clients=1, plugins=[csi.zfs()])
FIXTURES = ["env", *(f"{name}={value}" for name, value in programs.fixture_environment().items())]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A lab with a volume."""
    out = tmp_path_factory.mktemp("runs")
    with running(Asked(LAB, "machines", nomad="1.10.5", out=out, provider="vagrant")) as up:
        up.create_volumes(1)
        yield up


@pytest.fixture(scope="module")
def writer(cluster: Cluster) -> None:
    """A task that writes to the volume, a pool on a disk of the cloud's."""
    attaching.attach(cluster, workloads.consumer("writer", "vol1", cluster.task_driver), "vol1", 120)


@pytest.fixture
def node(cluster: Cluster) -> Node:
    return cluster.nodes["client1"]


@pytest.fixture
def scene(cluster: Cluster) -> Scene:
    return Scene(cluster)


def lines(node: Node) -> int:
    """How many lines the task has written."""
    return int(node.run(["wc", "-l", "/volumes/vol1/writes"]).stdout.split()[0])


def goes_on(node: Node) -> None:
    """The task writes."""
    before = lines(node)
    wait_until("the task writes", lambda: lines(node), lambda now: now > before + 2, timeout=60)


def durable(node: Node, path: str) -> float:
    """Seconds that a write takes, to the disk."""
    began = time.monotonic()
    node.run(["dd", "if=/dev/urandom", f"of={path}", "bs=4k", "count=1", "conv=fsync"])
    return time.monotonic() - began


def test_nothing_of_a_run_survives_the_next(cluster: Cluster, node: Node) -> None:
    """Not a file, not a dataset, not an entry of the servers' log."""
    cluster.copy()
    job = workloads.consumer("marker", "vol1", cluster.task_driver)
    cluster.submit(job)
    node.run(["sh", "-c", "touch /marker && zfs create tank/marker && sync"])
    assert cluster.api().get("job/marker")["ID"] == "marker"
    before = cluster.api().get("agent/self")["stats"]["raft"]["last_log_index"]
    cluster.revert()
    assert node.run(["test", "-e", "/marker"], check=False).code == 1
    assert node.run(["zfs", "list", "-H", "-o", "name"]).stdout.split() == ["tank"]
    with pytest.raises(ApiError, match="404"):
        cluster.api().get("job/marker")
    assert int(cluster.api().get("agent/self")["stats"]["raft"]["last_log_index"]) < int(before)


@pytest.mark.usefixtures("writer")
def test_audits_reach_a_machine_over_ssh(cluster: Cluster, tmp_path: Path) -> None:
    """As they reach a user's own hosts; one of what they find there is a pool that is suspended."""
    client = cluster.nodes["client1"]
    assert isinstance(client, VagrantNode)
    _, _, connection, *_, address = client.way.enter
    config = tmp_path / "ssh_config"
    config.write_text(f"Host client1\n HostName {address}\n User root\n ControlPath {connection}\n")

    def seen() -> Audited:
        return audited("ssh://client1", tmp_path, f"--ssh-config={config}")

    well = seen()
    assert well.failed == {}
    assert len(well.passed) == 16
    fault, scene = faults.SuspendPools("vol1"), Scene(cluster)
    fault.inject(scene)
    ill = seen()
    fault.heal(scene)
    assert "pool vol1 is SUSPENDED" in ill.failed["every_pool_is_online"]
    assert {"no_dataset_is_left", "every_zfs_mount_has_its_dataset"} <= ill.skipped


@pytest.mark.parametrize(("pool", "volume"), [("vol1", "vol1"), ("tank", "one-in-tank")])
@pytest.mark.usefixtures("writer")
def test_a_pool_is_suspended_and_waits(
    cluster: Cluster, scene: Scene, node: Node, pool: str, volume: str
) -> None:
    goes_on(node)
    node.zfs.refuse_writes(pool)
    node.start("writer", ["sh", "-c", f"zfs set a:b=c {pool}"], env={}, log=cluster.logs / "writer.log")
    wait_until("it is suspended", lambda: pools.suspended(node, pool), timeout=60)
    assert cluster.look("client1").silent  # and the look does not wait for it
    said = node.run(["zpool", "list", "-H", "-o", "name,health,capacity"]).stdout
    assert [*pool_audits.ill(pool_audits.listed(said))] == [f"pool {pool} is SUSPENDED"]
    with pytest.raises(CommandFailed, match="suspended"):  # nor does a plugin take it for gone
        node.run([*FIXTURES, "python3", "-c", f"import zfs; zfs.exists('{pool}/{volume}')"])
    faults.SuspendPools("other" if pool == "vol1" else "vol1").heal(Scene(cluster, hit=["client1"]))
    assert pools.suspended(node, pool), "it was mended with another"
    faults.SuspendPools(volume).heal(Scene(cluster, hit=["client1"]))
    assert not pools.suspended(node, pool)
    assert not cluster.look("client1").silent
    goes_on(node)


def test_pools_are_slow(scene: Scene, node: Node) -> None:
    fault = faults.SlowPools(CLIENT, stopped=0.5)
    durable(node, "/tank/probe")
    fault.inject(scene)
    assert durable(node, "/tank/probe") > 1.0  # a write, and the flush of it, come one after another
    with pytest.raises(MachineError, match="is delay already"):  # mending one would mend the other
        node.zfs.refuse_writes("tank")
    node.zfs.take_writes("tank")  # which is not what is wrong
    assert "delay" in node.run(["dmsetup", "table", "disk1"]).stdout
    node.run(["zpool", "export", "tank"])  # its disk is slow all the same
    fault.heal(scene)
    pools.import_own(node)
    wait_until("it is quick", lambda: durable(node, "/tank/probe"), lambda took: took < 1.0, timeout=60)


def test_a_disk_is_lost_and_comes_back(scene: Scene, node: Node) -> None:
    fault = faults.LoseVdev(CLIENT)
    fault.inject(scene)
    assert "state: DEGRADED" in pools.status(node, "tank")
    fault.heal(scene)
    assert "state: ONLINE" in pools.status(node, "tank")
    assert "mirror" not in pools.status(node, "tank")


def test_a_clock_is_wrong(scene: Scene, node: Node) -> None:
    fault = faults.SkewClock(CLIENT, -3600.0)
    fault.inject(scene)
    assert -3605 < float(node.run(["date", "+%s"]).stdout) - time.time() < -3595
    fault.heal(scene)
    assert abs(float(node.run(["date", "+%s"]).stdout) - time.time()) < 5


@pytest.mark.parametrize("fault", [faults.PanicNode(CLIENT), faults.CrashNode(CLIENT)], ids=repr)
def test_a_node_dies_and_boots(cluster: Cluster, scene: Scene, node: Node, fault: Fault) -> None:
    assert fault.inject(scene) == "client1"
    assert not node.up
    fault.heal(Scene(cluster, hit=["client1"]))
    assert pools.imported(node) == ["tank"]
