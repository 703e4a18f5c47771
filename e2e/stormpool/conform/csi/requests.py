"""The fields of each call about a volume, as the specification asks for them and the plugin offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stormpool.conform.csi import life

if TYPE_CHECKING:
    from stormpool.conform.csi.bench import Bench
    from stormpool.conform.csi.volume import Volume

TAKES_SECRETS = frozenset({*life.ALL} - {"NodeUnpublishVolume", "NodeUnstageVolume"})


def request(bench: Bench, volume: Volume, method: str, otherwise: dict[str, Any]) -> Any:
    """The request of a call as a volume stands; `otherwise`: fields that are to be other ones."""
    kind = getattr(bench.plugin.pb, f"{method}Request")
    said = {"secrets": bench.asked.secrets} if method in TAKES_SECRETS else {}
    return kind(**{**_fields(bench, volume, method), **said, **otherwise})


def capability(pb: Any) -> Any:
    """How every volume is used: as a file system of one node."""
    mode = pb.VolumeCapability.AccessMode(mode=pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER)
    return pb.VolumeCapability(mount=pb.VolumeCapability.MountVolume(), access_mode=mode)


def _fields(bench: Bench, volume: Volume, method: str) -> dict[str, Any]:
    if method == "CreateVolume":
        return _wanted(bench, volume)
    if method == "DeleteVolume":
        return {"volume_id": volume.id}
    if method.startswith("Controller"):
        said = {"volume_id": volume.id, "node_id": bench.offers.node_id}
    else:
        said = {"volume_id": volume.id, **_paths(bench, volume, method)}
    return said if method in life.UNDOES else {**said, **_use(bench, volume, method)}


def _wanted(bench: Bench, volume: Volume) -> dict[str, Any]:
    return {
        "name": volume.name,
        "volume_capabilities": [bench.capability],
        "capacity_range": bench.plugin.pb.CapacityRange(required_bytes=bench.asked.size),
        "parameters": bench.asked.plugin.parameters,
    }


def _paths(bench: Bench, volume: Volume, method: str) -> dict[str, str]:
    staged = {"staging_target_path": volume.staging} if "NodeStageVolume" in bench.up else {}
    return {
        "NodeStageVolume": staged,
        "NodeUnstageVolume": staged,
        "NodePublishVolume": {"target_path": volume.target, **staged},
        "NodeUnpublishVolume": {"target_path": volume.target},
    }[method]


def _use(bench: Bench, volume: Volume, method: str) -> dict[str, Any]:
    """How the volume is to be used, and what the controller said for its nodes to know."""
    said = {"volume_capability": bench.capability, "volume_context": volume.context}
    return said if method.startswith("Controller") else {**said, "publish_context": volume.publish_context}
