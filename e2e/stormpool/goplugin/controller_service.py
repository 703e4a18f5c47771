"""Lets the agent end the plugin (go-plugin, internal/plugin/grpc_controller.proto)."""

from __future__ import annotations

import threading
from typing import Any

import grpc

from stormpool.goplugin.protos import controller, controller_rpc


class ControllerService(controller_rpc.GRPCControllerServicer):  # type: ignore[misc,name-defined]
    """Sets `stop` when it is asked to."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def Shutdown(self, request: Any, context: grpc.ServicerContext) -> Any:
        """End."""
        context.add_callback(self._stop.set)  # once the answer is out
        return controller.Empty()
