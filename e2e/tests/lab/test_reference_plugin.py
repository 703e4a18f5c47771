"""The reference plugin keeps the specification's word, does what it says on real pools, and can be broken."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from stormpool import pools, programs, stubs
from stormpool.lab import Lab
from stormpool.node import Bringing, Node, Process
from stormpool.plugins import csi
from stormpool.programs import FIXTURES
from stormpool.providers.netns import NamespaceNodes, Netns
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

stubs.ensure("csi")
pb, rpc = stubs.load("csi", "csi_pb2"), stubs.load("csi", "csi_pb2_grpc")
MIB = 1 << 20
# Words of what csi-sanity skips where a plugin does not say it can do it. Ours says none of these.
NOT_OFFERED = (
    "ControllerGetVolume",
    "GetCapacity",
    "GetSnapshot",
    "GroupController",
    "ModifyVolume",
    "NodeExpandVolume",
    "NodeGetVolumeStats",
    "already published but is incompatible",  # read-only attachments
    "attach limit",
    "existing source volume",
    "single node multi writer",
    "volume attribute class",
    "volume source volume",
)
# A disk copied as it is has the pool's own id: no node could import it beside the first.
NOT_POSSIBLE = {
    "attach": "should create volume from an existing source snapshot",
    "dataset": "^$",
    "moving": "^$",
}


class Bench:
    """Two nodes with pools and no agents, and plugins to be asked directly."""

    def __init__(self, nodes: NamespaceNodes, logs: Path) -> None:
        self.nodes = nodes
        self.logs = logs
        self.channels: list[grpc.Channel] = []
        self.plugins: dict[str, Process] = {}

    def node(self, name: str) -> Node:
        """A node."""
        return self.nodes.nodes[name]

    def serve(self, node: str, role: str = "monolith", mutant: str = "") -> grpc.Channel:
        """Start the plugin on a node, and connect to it."""
        name = f"{node}-{role}.sock"
        plugin = csi.zfs(mutant=mutant)
        words = {"node": node, "cloud": self.nodes.cloud, "role": role}
        env = {**plugin.env, "CSI_ENDPOINT": f"unix://{self.nodes.door}/{name}"}
        argv = [word.format_map(words) for word in plugin.argv]
        log = self.logs / f"{node}-{role}.log"
        self.plugins[node] = self.node(node).start(f"plugin on {node}", argv, env=env, log=log)
        channel = grpc.insecure_channel(f"unix:{self.nodes.sockets.to(name)}")
        grpc.channel_ready_future(channel).result(20)
        self.channels.append(channel)
        return channel

    def kill(self, node: str) -> None:
        """SIGKILL to the plugin that was started last on a node."""
        self.plugins[node].signal(9)
        self.plugins[node].wait(10)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    nodes = Netns().up(Lab(servers=1, clients=2), Bringing("0badcafe", tmp_path))
    made = Bench(nodes, tmp_path)
    try:
        for name in ("client1", "client2"):
            pools.start(made.node(name), 256, tmp_path / f"{name}-zfs.log")
        yield made
    finally:
        for channel in made.channels:
            channel.close()
        nodes.down()


def capability() -> Any:
    mode = pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
    return pb.VolumeCapability(
        mount=pb.VolumeCapability.MountVolume(), access_mode=pb.VolumeCapability.AccessMode(mode=mode)
    )


def create(channel: grpc.Channel, name: str, kind: str, **more: Any) -> Any:
    return rpc.ControllerStub(channel).CreateVolume(
        pb.CreateVolumeRequest(
            name=name,
            volume_capabilities=[capability()],
            parameters={"kind": kind},
            capacity_range=pb.CapacityRange(required_bytes=64 * MIB),
            **more,
        )
    )


def attach(channel: grpc.Channel, volume: str, node: str) -> dict[str, str]:
    answer = rpc.ControllerStub(channel).ControllerPublishVolume(
        pb.ControllerPublishVolumeRequest(volume_id=volume, node_id=node, volume_capability=capability())
    )
    return dict(answer.publish_context)


def detach(channel: grpc.Channel, volume: str, node: str) -> None:
    rpc.ControllerStub(channel).ControllerUnpublishVolume(
        pb.ControllerUnpublishVolumeRequest(volume_id=volume, node_id=node)
    )


def mount(channel: grpc.Channel, volume: str, context: dict[str, str]) -> str:
    """Stage and publish a volume; return where it is then."""
    node, where = rpc.NodeStub(channel), f"/run/{volume}"
    said = {"volume_id": volume, "publish_context": context, "volume_capability": capability()}
    node.NodeStageVolume(pb.NodeStageVolumeRequest(staging_target_path=f"{where}/staged", **said))
    node.NodePublishVolume(
        pb.NodePublishVolumeRequest(
            staging_target_path=f"{where}/staged", target_path=f"{where}/target", **said
        )
    )
    return f"{where}/target"


def unmount(channel: grpc.Channel, volume: str) -> None:
    node, where = rpc.NodeStub(channel), f"/run/{volume}"
    node.NodeUnpublishVolume(pb.NodeUnpublishVolumeRequest(volume_id=volume, target_path=f"{where}/target"))
    node.NodeUnstageVolume(
        pb.NodeUnstageVolumeRequest(volume_id=volume, staging_target_path=f"{where}/staged")
    )


def size_mib(node: Node, pool: str) -> float:
    """What a pool holds (zfs-fuse's zpool prints no exact numbers)."""
    return float(node.run(["zpool", "list", "-H", "-o", "size", pool]).stdout.strip().removesuffix("M"))


@pytest.mark.parametrize("kind", ["attach", "dataset", "moving"])
def test_csi_sanity_finds_nothing(kind: str, bench: Bench, tmp_path: Path) -> None:
    sanity = programs.ensure(programs.recipe(FIXTURES / "tools" / "csi-sanity"))
    bench.serve("client1")
    node = bench.node("client1")
    node.write("/run/sanity/parameters", f"kind: {kind}\n")
    door = bench.nodes.door
    done = node.run(
        [
            str(sanity),
            f"--csi.endpoint=unix://{door}/client1-monolith.sock",
            "--csi.mountdir=/run/sanity/mount",
            "--csi.stagingdir=/run/sanity/staging",
            "--csi.testvolumeparameters=/run/sanity/parameters",
            f"--csi.testvolumesize={64 * MIB}",
            f"--csi.testvolumeexpandsize={128 * MIB}",
            f"--csi.junitfile={door}/junit.xml",
            f"--ginkgo.skip={NOT_POSSIBLE[kind]}",
            "--ginkgo.no-color",
        ],
        timeout=280,
        check=False,
    )
    assert done.code == 0, done.stdout[-6000:]
    cases = ET.parse(bench.nodes.door_here / "junit.xml").getroot().iter("testcase")
    by_status: dict[str, list[str]] = {}
    for case in cases:
        by_status.setdefault(case.get("status", ""), []).append(case.get("name", ""))
    known = (*NOT_OFFERED, NOT_POSSIBLE[kind])
    skipped = [name for name in by_status.get("skipped", []) if not any(word in name for word in known)]
    assert len(by_status["passed"]) >= 60, {status: len(names) for status, names in by_status.items()}
    assert skipped == []


def test_a_pool_grows_while_it_is_attached_nowhere(bench: Bench) -> None:
    channel, node = bench.serve("client1"), bench.node("client1")
    controller = rpc.ControllerStub(channel)
    create(channel, "grows", "attach")
    target = mount(channel, "grows", attach(channel, "grows", "client1"))
    node.run(["sh", "-c", f"echo kept >{target}/file"])
    before = size_mib(node, "grows")
    bigger = pb.ControllerExpandVolumeRequest(
        volume_id="grows", capacity_range=pb.CapacityRange(required_bytes=160 * MIB)
    )
    with pytest.raises(grpc.RpcError, match="is attached to client1"):
        controller.ControllerExpandVolume(bigger)
    unmount(channel, "grows")
    controller.ControllerUnpublishVolume(pb.ControllerUnpublishVolumeRequest(volume_id="grows"))
    assert controller.ControllerExpandVolume(bigger).capacity_bytes == 160 * MIB
    target = mount(channel, "grows", attach(channel, "grows", "client1"))
    assert size_mib(node, "grows") > before + 64
    assert node.run(["cat", f"{target}/file"]).stdout == "kept\n"


def test_a_dataset_is_made_where_topology_asks_and_copied_from_a_snapshot(bench: Bench) -> None:
    first, second = bench.serve("client1"), bench.serve("client2")
    there = pb.Topology(segments={"zfs.stormpool.dev/node": "client2"})
    asked = pb.TopologyRequirement(requisite=[there], preferred=[there])
    create(first, "data", "dataset", accessibility_requirements=asked)
    assert bench.node("client1").run(["zfs", "list", "tank/data"], check=False).code != 0
    target = mount(second, "data", attach(first, "data", "client2"))
    bench.node("client2").run(["sh", "-c", f"echo first >{target}/file"])
    rpc.ControllerStub(first).CreateSnapshot(pb.CreateSnapshotRequest(source_volume_id="data", name="then"))
    bench.node("client2").run(["sh", "-c", f"echo later >{target}/file"])
    source = pb.VolumeContentSource(snapshot=pb.VolumeContentSource.SnapshotSource(snapshot_id="then"))
    create(first, "copy", "dataset", volume_content_source=source)
    copy = mount(second, "copy", attach(first, "copy", "client2"))
    assert bench.node("client2").run(["cat", f"{copy}/file"]).stdout == "first\n"
    with pytest.raises(grpc.RpcError) as refused:
        attach(first, "data", "client1")
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


def test_controller_and_node_parts_apart(bench: Bench) -> None:
    controller, node = bench.serve("client1", "controller"), bench.serve("client2", "node")
    create(controller, "apart", "attach")
    target = mount(node, "apart", attach(controller, "apart", "client2"))
    assert bench.node("client2").run(["touch", f"{target}/file"]).code == 0
    with pytest.raises(grpc.RpcError) as refused:
        create(node, "other", "attach")
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_volume_attached_twice_is_damaged(bench: Bench) -> None:
    """Without the fence two nodes import one pool: what the first has written is gone."""
    channels = {name: bench.serve(name, mutant="no_fence") for name in ("client1", "client2")}
    create(channels["client1"], "twice", "attach")
    for name, channel in channels.items():
        target = mount(channel, "twice", attach(channels["client1"], "twice", name))
        bench.node(name).run(["sh", "-c", f"echo {name} >{target}/{name} && sync"])
    for name, channel in channels.items():
        unmount(channel, "twice")
        detach(channel, "twice", name)
    try:
        target = mount(channels["client1"], "twice", attach(channels["client1"], "twice", "client1"))
    except grpc.RpcError:
        return  # the pool cannot be imported any more
    found = bench.node("client1").run(["ls", target]).stdout.split()
    assert found != ["client1", "client2"]


def test_a_volume_attached_to_one_node_is_refused_to_another(bench: Bench) -> None:
    channel, _ = bench.serve("client1"), bench.serve("client2")
    create(channel, "once", "attach")
    attach(channel, "once", "client1")
    with pytest.raises(grpc.RpcError, match="is attached to client1") as refused:
        attach(channel, "once", "client2")
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


def has_a_copy(bench: Bench, node: str, volume: str) -> bool:
    """Whether a node's pool has anything of a volume."""
    return bench.node(node).run(["zfs", "list", f"tank/{volume}"], check=False).code == 0


def the_list_has(bench: Bench, volume: str, word: str) -> bool:
    """Whether the cloud's list says this of a volume."""
    return word in bench.node("client1").read(f"{bench.nodes.cloud}/volumes/{volume}.json")


def moved(bench: Bench, channel: grpc.Channel, volume: str, node: str) -> dict[str, str]:
    """Attach a volume to a node, as often as it takes."""
    asked = partial(attach, channel, volume, node)
    return wait_until(f"{volume} is on {node}", asked, timeout=20, every=0.1, ignoring=(grpc.RpcError,))


# Who is killed while a volume moves from client1 to client2, and what was to be seen of the move by then.
CUT_SHORT: tuple[tuple[str, Callable[[Bench, str], bool]], ...] = (
    ("client1", lambda bench, volume: the_list_has(bench, volume, '["client2"]')),
    ("client1", lambda bench, volume: has_a_copy(bench, "client2", volume)),
    ("client2", lambda bench, volume: has_a_copy(bench, "client2", volume)),
    ("client2", lambda bench, volume: the_list_has(bench, volume, '"node": "client2"')),
)


def test_a_move_that_is_cut_short_leaves_one_volume_and_all_of_it(bench: Bench) -> None:
    channels = {name: bench.serve(name) for name in ("client1", "client2")}
    for number, (killed, seen) in enumerate(CUT_SHORT):
        volume = f"moves{number}"
        create(channels["client1"], volume, "moving")
        target = mount(channels["client1"], volume, attach(channels["client1"], volume, "client1"))
        fill = f"dd if=/dev/urandom of={target}/file bs=64k count=80 2>/dev/null; sha256sum <{target}/file"
        written = bench.node("client1").run(["sh", "-c", fill]).stdout
        snapshot = pb.CreateSnapshotRequest(source_volume_id=volume, name=f"then{number}")
        rpc.ControllerStub(channels["client2"]).CreateSnapshot(snapshot)
        unmount(channels["client1"], volume)
        detach(channels["client1"], volume, "client1")
        with ThreadPoolExecutor(1) as thread:
            moving = thread.submit(attach, channels["client2"], volume, "client2")
            wait_until("it moves", partial(seen, bench, volume), timeout=10, every=0.005)
            bench.kill(killed)
            with suppress(grpc.RpcError):
                moving.result()
        channels[killed] = bench.serve(killed)
        context = moved(bench, channels["client2"], volume, "client2")
        target = mount(channels["client2"], volume, context)
        assert bench.node("client2").run(["sh", "-c", f"sha256sum <{target}/file"]).stdout == written
        # It is busy for a while, and tried again until it is gone.
        wait_until("none is left", partial(the_list_has, bench, volume, '"copies": []'), timeout=20)
        assert not has_a_copy(bench, "client1", volume)
        assert has_a_copy(bench, "client2", f"{volume}@then{number}")
