"""Serves a device plugin (nomad, plugins/device/proto/device.proto)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc

from stormpool.goplugin.calls import over_when_gone, told, told_in_stream
from stormpool.goplugin.device import DevicePlugin, group_to, reservation_to, statistics_to
from stormpool.goplugin.protos import device, device_rpc


class DeviceService(device_rpc.DevicePluginServicer):  # type: ignore[misc,name-defined]
    """Asks a plugin, and tells what it says."""

    def __init__(self, plugin: DevicePlugin) -> None:
        self._plugin = plugin

    @told_in_stream
    def Fingerprint(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """All devices, whenever that changes."""
        for groups in self._plugin.fingerprint(over_when_gone(context)):
            yield device.FingerprintResponse(device_group=[group_to(each) for each in groups])

    @told
    def Reserve(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Make devices ready for a task."""
        made = self._plugin.reserve(tuple(request.device_ids))
        return device.ReserveResponse(container_res=reservation_to(made))

    @told_in_stream
    def Stats(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Statistics, again and again."""
        every = request.collection_interval.ToNanoseconds() / 1e9
        for statistics in self._plugin.stats(every, over_when_gone(context)):
            yield statistics_to(statistics)
