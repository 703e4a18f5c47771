"""What every plugin of Nomad answers: what it is, and its configuration (nomad, plugins/base/plugin.go)."""

from __future__ import annotations

from typing import Any

import grpc

from stormpool.goplugin import schema
from stormpool.goplugin.calls import told
from stormpool.goplugin.device import DevicePlugin
from stormpool.goplugin.driver import DriverPlugin
from stormpool.goplugin.handshake import API
from stormpool.goplugin.protos import base, base_rpc


class BaseService(base_rpc.BasePluginServicer):  # type: ignore[misc,name-defined]
    """Serves a plugin of either kind."""

    def __init__(self, plugin: DevicePlugin | DriverPlugin, kind: int) -> None:
        self._plugin = plugin
        self._kind = kind

    def PluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Name, kind and versions."""
        return base.PluginInfoResponse(
            type=self._kind,
            plugin_api_versions=[API],
            plugin_version=self._plugin.version,
            name=self._plugin.name,
        )

    def ConfigSchema(self, request: Any, context: grpc.ServicerContext) -> Any:
        """What can be configured."""
        return base.ConfigSchemaResponse(spec=schema.spec_of(self._plugin.config))

    @told
    def SetConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Take the configuration."""
        self._plugin.configure(schema.decode(request.msgpack_config, self._plugin.config))
        return base.SetConfigResponse()
