"""Storage faults hit the pool, dataset, disk or mount they name, and mend it: the node's own word for each.

One lab for all of them, with a task that writes to an attach volume and a volume that is a dataset.
"""

import re
from collections.abc import Callable, Iterator

import pytest

from stormpool import datasets, faults, pools, target, workloads
from stormpool.cluster import Cluster
from stormpool.datasets import Dataset
from stormpool.errors import MachineError
from stormpool.events import Operation
from stormpool.faults import Fault
from stormpool.lab import Lab
from stormpool.node import Node
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.wait import wait_until
from stormpool.workloads import attaching
from stormpool.zfs.daemon import DaemonZfs

pytestmark = pytest.mark.lab

CLIENT = target.node("client1")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A lab with volumes: `vol1` attached and written to, `vol2` on no node, `data` a dataset."""
    asked = Asked(
        lab=Lab(servers=1, clients=1, plugins=[csi.zfs()]),
        scenario="storage faults",
        out=tmp_path_factory.mktemp("runs"),
        seed=1,
    )
    with running(asked) as up:
        up.create_volumes(2)
        capability = {"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}
        data = {
            "ID": "data",
            "Name": "data",
            "PluginID": "zfs",
            "RequestedCapacityMin": 8 << 20,
            "RequestedCapacityMax": 8 << 20,
            "RequestedCapabilities": [capability],
            "Parameters": {"kind": "dataset"},
        }
        up.api().put("volume/csi/data/create", {"Volumes": [data]})
        attaching.attach(up, workloads.consumer("writer", "vol1", up.task_driver), "vol1", 60)
        attached = up.turn.directory.read_history().of(Operation)[-1]
        assert not attached.error
        yield up


@pytest.fixture
def scene(cluster: Cluster) -> Scene:
    """No call sets these faults off."""
    return Scene(cluster)


@pytest.fixture
def node(cluster: Cluster) -> Node:
    """Where all of it is."""
    return cluster.nodes["client1"]


def lines(node: Node) -> int:
    """How many lines the task has written."""
    return int(node.run(["wc", "-l", "/volumes/vol1/writes"]).stdout.split()[0])


def goes_on(node: Node, than: Callable[[], int]) -> None:
    """The task writes."""
    before = than()
    wait_until("the task writes", than, lambda now: now > before + 2, timeout=20)


def refused(node: Node, directory: str) -> str:
    """What a write of a few blocks ends with."""
    write = ["dd", "if=/dev/urandom", f"of={directory}/probe", "bs=4k", "count=4", "conv=fsync"]
    done = node.run(write, check=False)
    node.run(["rm", "-f", f"{directory}/probe"], check=False)
    return done.stderr if done.code else ""


def write(node: Node, volume: str) -> str:
    """What a write to a volume ends with."""
    return refused(node, f"/volumes/{volume}")


@pytest.mark.parametrize(
    ("fault", "volume", "says", "other"),
    [
        (faults.FillPool("vol1"), "vol1", "No space left on device", "data"),
        (faults.FillPool("data"), "data", "No space left on device", "vol1"),
        (faults.ReachQuota("data"), "data", "quota exceeded", "vol1"),
        (faults.ReachQuota("vol1"), "vol1", "quota exceeded", "data"),
        (faults.RemountReadOnly("vol1"), "vol1", "Read-only file system", "data"),
        (faults.RemountReadOnly("data"), "data", "Read-only file system", "vol1"),
    ],
    ids=repr,
)
def test_a_volume_that_refuses_writes(
    scene: Scene, node: Node, fault: Fault, volume: str, says: str, other: str
) -> None:
    before = {name: Dataset(node, "tank/data").get(name) for name in ("quota", "readonly")}
    assert node.spec.name in fault.inject(scene)
    assert says in write(node, volume)
    assert write(node, other) == ""
    fault.heal(scene)
    fault.heal(scene)
    assert (
        wait_until("it can be written to", lambda: write(node, volume), lambda said: not said, timeout=40)
        == ""
    )
    assert before == {name: Dataset(node, "tank/data").get(name) for name in before}
    goes_on(node, lambda: lines(node))


def test_a_full_pool_leaves_the_others_room(scene: Scene, node: Node) -> None:
    fault = faults.ReachQuota("data")
    fault.inject(scene)
    assert refused(node, "/tank") == ""
    fault.heal(scene)


def test_a_mount_that_is_busy(scene: Scene, cluster: Cluster, node: Node) -> None:
    fault = faults.OccupyMount("vol1")
    fault.inject(scene)
    mounted = [mount.target for mount in cluster.look("client1").mounts if mount.source == "vol1"]
    assert len(mounted) == 3  # its own, where it is staged, and where the task's is taken from
    for point in mounted:
        assert "busy" in node.run(["umount", point], check=False).stderr
    fault.heal(scene)
    fault.heal(scene)
    assert not [seen for seen in cluster.look("client1").processes if "companion.py" in seen.argv]


def test_pools_that_are_suspended(scene: Scene, node: Node) -> None:
    goes_on(node, lambda: lines(node))
    fault = faults.SuspendPools("vol1")
    assert fault.inject(scene) == "vol1 of client1"
    assert pools.suspended(node, "vol1")
    assert not pools.suspended(node, "tank")
    fault.heal(scene)
    fault.heal(scene)
    assert not pools.suspended(node, "vol1")
    assert "errors: No known data errors" in pools.status(node, "vol1")
    assert Dataset(node, "vol1").get("stormpool:suspended") == "-"
    goes_on(node, lambda: lines(node))


def test_pools_that_are_slow(scene: Scene, node: Node) -> None:
    fault = faults.SlowPools(CLIENT, stopped=1.0, running=0.01)
    daemon = DaemonZfs(node).pid()
    fault.inject(scene)
    stopped = ["ps", "-o", "stat=", "-p", str(daemon)]
    wait_until(
        "it is stopped", lambda: node.run(stopped).stdout, lambda said: said.startswith("T"), timeout=5
    )
    fault.heal(scene)
    fault.heal(scene)
    assert not node.run(stopped).stdout.startswith("T")
    faults.SlowPools(CLIENT).inject(scene)
    assert write(node, "data") == ""  # slow, not stuck
    fault.heal(scene)


def test_a_disk_that_is_lost_and_comes_back(scene: Scene, node: Node) -> None:
    whole = pools.status(node, "tank")
    fault = faults.LoseVdev(CLIENT)
    assert fault.inject(scene) == "/lab/disk/vdevs/tank.img of client1"
    degraded = pools.status(node, "tank")
    assert "state: DEGRADED" in degraded
    assert re.search(r"tank.img +OFFLINE", degraded)
    assert write(node, "data") == ""
    fault.heal(scene)
    fault.heal(scene)
    mended = pools.status(node, "tank")
    assert "state: ONLINE" in mended
    assert "mirror" not in whole + mended
    assert node.run(["ls", "/lab/disk/vdevs"]).stdout.split() == ["tank.img"]


def test_a_volume_on_no_node(scene: Scene) -> None:
    with pytest.raises(MachineError, match="no node has volume vol2"):
        faults.FillPool("vol2").inject(scene)
    assert datasets.find(scene.cluster.clients(), "vol1").name == "vol1"
