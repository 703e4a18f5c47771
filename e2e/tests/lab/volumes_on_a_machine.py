"""Run on a machine: asks the reference plugin there for volumes that only OpenZFS has.

Prints a JSON object: of each step the status it was answered with, or what was seen then.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from stormpool import stubs

pb, rpc = stubs.load("csi", "csi_pb2"), stubs.load("csi", "csi_pb2_grpc")
SOCKET, STAGING, TARGET = "/run/kinds/csi.sock", "/run/kinds/staging", "/run/kinds/target"
SIZE = 16 << 20  # bytes
KEY, OTHER, SHORT = ({"hex": digit * length} for digit, length in (("7", 64), ("8", 64), ("7", 10)))
WRITER = pb.VolumeCapability.AccessMode(mode=pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER)
FILES = pb.VolumeCapability(mount=pb.VolumeCapability.MountVolume(), access_mode=WRITER)
DEVICE = pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume(), access_mode=WRITER)
SEEN: dict[str, object] = {}


def main() -> None:
    """Ask, and tell."""
    Path(STAGING).mkdir(parents=True)
    disk = sys.argv[1]
    with plugin() as ask:
        a_device(ask)
        an_encrypted_volume(ask, disk)
    with plugin("keeps_key") as ask:
        ask.create("by the mutant", "kept", FILES, KEY, kind="dataset", encryption="on")
        ask.stage("staged by the mutant", "kept", FILES, KEY)
        ask.take_down("by the mutant", "kept")
        SEEN["key that the mutant keeps"] = prop("keystatus", "tank/kept")
        ask.delete("deleted by the mutant", "kept")
    print(json.dumps(SEEN))


@contextmanager
def plugin(mutant: str = "") -> Iterator["Plugin"]:
    """The plugin, running."""
    argv = [sys.executable, "-m", "zfs_csi", "--node=client1", "--cloud=/run/kinds/cloud"]
    env = {**os.environ, "CSI_ENDPOINT": f"unix://{SOCKET}", "ZFS_CSI_MUTANT": mutant}
    with subprocess.Popen(argv, env=env, stdout=2) as process:
        try:
            with grpc.insecure_channel(f"unix:{SOCKET}") as channel:
                grpc.channel_ready_future(channel).result(60)
                yield Plugin(channel)
        finally:
            process.terminate()


class Plugin:
    """What is asked of the plugin; each call's status is told under a name."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._controller, self._node = rpc.ControllerStub(channel), rpc.NodeStub(channel)

    def create(self, name: str, volume: str, capability: Any, secrets: Any = None, **parameters: str) -> None:
        """CreateVolume."""
        room = pb.CapacityRange(required_bytes=SIZE)
        asked = {"name": volume, "volume_capabilities": [capability], "capacity_range": room}
        wanted = pb.CreateVolumeRequest(**asked, parameters=parameters, secrets=secrets or {})
        told(name, self._controller.CreateVolume, wanted)

    def stage(self, name: str, volume: str, capability: Any, secrets: Any = None) -> None:
        """NodeStageVolume."""
        asked = {"volume_id": volume, "staging_target_path": STAGING, "volume_capability": capability}
        told(name, self._node.NodeStageVolume, pb.NodeStageVolumeRequest(**asked, secrets=secrets or {}))

    def publish(self, name: str, volume: str, capability: Any) -> None:
        """NodePublishVolume."""
        asked = {"volume_id": volume, "staging_target_path": STAGING, "volume_capability": capability}
        told(name, self._node.NodePublishVolume, pb.NodePublishVolumeRequest(**asked, target_path=TARGET))

    def take_down(self, name: str, volume: str) -> None:
        """NodeUnpublishVolume and NodeUnstageVolume."""
        unpublished = pb.NodeUnpublishVolumeRequest(volume_id=volume, target_path=TARGET)
        told(f"{name}: unpublished", self._node.NodeUnpublishVolume, unpublished)
        unstaged = pb.NodeUnstageVolumeRequest(volume_id=volume, staging_target_path=STAGING)
        told(f"{name}: unstaged", self._node.NodeUnstageVolume, unstaged)

    def delete(self, name: str, volume: str) -> None:
        """DeleteVolume."""
        told(name, self._controller.DeleteVolume, pb.DeleteVolumeRequest(volume_id=volume))


def told(name: str, call: Any, request: Any) -> None:
    """Tell what a call is answered."""
    try:
        call(request, timeout=60)
    except grpc.RpcError as error:
        SEEN[name] = error.code().name
    else:
        SEEN[name] = "OK"


def a_device(ask: Plugin) -> None:
    """A zvol, from its making to its end."""
    ask.create("a zvol as files", "device", FILES, kind="zvol")
    ask.create("a zvol", "device", DEVICE, kind="zvol")
    ask.create("a zvol again", "device", DEVICE, kind="zvol")
    SEEN["reserved"] = int(prop("refreservation", "tank/device")) >= SIZE
    ask.stage("a zvol is staged as files", "device", FILES)
    ask.stage("a zvol is staged", "device", DEVICE)
    ask.publish("a zvol is published", "device", DEVICE)
    ask.publish("a zvol is published again", "device", DEVICE)
    SEEN["a device is there"] = Path(TARGET).is_block_device()
    with Path(TARGET).open("r+b") as device:
        device.write(b"written")
        os.fsync(device.fileno())
        SEEN["its size"] = device.seek(0, os.SEEK_END)
    ask.delete("a zvol that is used is deleted", "device")
    ask.take_down("a zvol", "device")
    SEEN["left at its paths"] = [*map(str, Path(STAGING).iterdir())] + [TARGET] * Path(TARGET).exists()
    ask.stage("a zvol is staged again", "device", DEVICE)
    SEEN["kept"] = is_on(f"{STAGING}/device", b"written")
    ask.take_down("a zvol again", "device")
    ask.delete("a zvol is deleted", "device")


def an_encrypted_volume(ask: Plugin, disk: str) -> None:
    """A dataset that is encrypted, beside one that is not."""
    encrypted = {"kind": "dataset", "encryption": "on"}
    ask.create("made without a key", "dark", FILES, **encrypted)
    ask.create("made with half a key", "dark", FILES, SHORT, **encrypted)
    ask.create("made with a key", "dark", FILES, KEY, **encrypted)
    ask.create("made with a key again", "dark", FILES, KEY, **encrypted)
    ask.create("made again with another key", "dark", FILES, OTHER, **encrypted)
    ask.create("made without encryption", "clear", FILES, kind="dataset")
    SEEN["key once it is made"] = prop("keystatus", "tank/dark")
    ask.stage("staged without a key", "dark", FILES)
    ask.stage("staged with another key", "dark", FILES, OTHER)
    ask.stage("staged with its key", "dark", FILES, KEY)
    ask.stage("staged again with another key", "dark", FILES, OTHER)
    SEEN["key while it is staged"] = prop("keystatus", "tank/dark")
    dark, clear = os.urandom(4096), os.urandom(4096)  # nothing that compression would change
    Path(f"{STAGING}/file").write_bytes(dark)
    ask.take_down("encrypted", "dark")
    SEEN["key once it is unstaged"] = prop("keystatus", "tank/dark")
    Path("/volumes/clear/file").write_bytes(clear)
    run("zpool", "sync", "tank")
    SEEN["on the disk"] = {"dark": is_on(disk, dark), "clear": is_on(disk, clear)}
    ask.delete("encrypted is deleted", "dark")
    ask.delete("clear is deleted", "clear")


def prop(name: str, dataset: str) -> str:
    """A property of a dataset."""
    return run("zfs", "get", "-H", "-p", "-o", "value", name, dataset).strip()


def run(*argv: str) -> str:
    """What a command prints."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def is_on(disk: str, words: bytes) -> bool:
    """Whether a disk has a block that is these words: ZFS's blocks begin at whole sectors."""
    with Path(disk).open("rb") as device:
        while piece := device.read(4 << 20):
            if words in piece:
                return True
    return False


main()
