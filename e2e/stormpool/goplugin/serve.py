"""Serve a device or a driver as a plugin of Nomad's agent: a program whose `main` calls `serve_device` or
`serve_driver`, and is put into the agent's `plugin_dir`.

What the program logs goes to standard error, where the agent reads it; what it prints goes to the agent by
`GRPCStdio`, once the line that it begins with is out.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from stormpool.goplugin.base_service import BaseService
from stormpool.goplugin.broker_service import BrokerService
from stormpool.goplugin.controller_service import ControllerService
from stormpool.goplugin.device import DevicePlugin
from stormpool.goplugin.device_service import DeviceService
from stormpool.goplugin.driver import DriverPlugin
from stormpool.goplugin.driver_service import DriverService
from stormpool.goplugin.handshake import COOKIE, COOKIE_VALUE, SOCKET_DIRECTORY, Handshake
from stormpool.goplugin.protos import (
    base,
    base_rpc,
    broker_rpc,
    controller_rpc,
    device_rpc,
    driver_rpc,
    stdio_rpc,
)
from stormpool.goplugin.stdio_service import StdioService

SERVICE = "plugin"  # what agents ask gRPC's health service about (go-plugin, grpc_server.go)
MOST_CALLS = 4096  # under way at once: each task has its waits and streams, and each holds a thread
LOOK_EVERY = 0.2  # seconds between two looks whether a signal came
# Seconds that calls have to end when the plugin is told to. Streams never do, and agents wait for it.
GRACE = 0.1

NOT_BY_HAND = """this is a plugin of the Nomad agent: it does nothing by hand.
Put it into the agent's plugin_dir, or have `stormpool conform` run it.
"""


def serve_device(plugin: DevicePlugin) -> None:
    """Serve a device until the agent says that it is over; then, or by SIGTERM, return."""

    def add(server: grpc.Server) -> None:
        base_rpc.add_BasePluginServicer_to_server(BaseService(plugin, base.DEVICE), server)
        device_rpc.add_DevicePluginServicer_to_server(DeviceService(plugin), server)

    _serve(add)


def serve_driver(plugin: DriverPlugin) -> None:
    """Serve a task driver until the agent says that it is over; then, or by SIGTERM, return."""

    def add(server: grpc.Server) -> None:
        base_rpc.add_BasePluginServicer_to_server(BaseService(plugin, base.DRIVER), server)
        driver_rpc.add_DriverServicer_to_server(DriverService(plugin), server)

    _serve(add)


def _serve(add: Callable[[grpc.Server], None]) -> None:
    if os.environ.get(COOKIE) != COOKIE_VALUE:
        sys.exit(NOT_BY_HAND)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the agent's to act on
    server = grpc.server(ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="call"))
    output = StdioService()
    _add_go_plugin(server, stop, output)
    add(server)
    where = os.environ.get(SOCKET_DIRECTORY) or None
    with tempfile.TemporaryDirectory(prefix="plugin", dir=where) as directory:
        socket = Path(directory) / "plugin.sock"
        server.add_insecure_port(f"unix:{socket}")
        server.start()
        print(Handshake(str(socket)).line, flush=True)
        sys.stdout = output.writer
        while not stop.wait(LOOK_EVERY):
            pass  # a signal that interrupted another thread is acted on once this one runs
        server.stop(GRACE).wait()


def _add_go_plugin(server: grpc.Server, stop: threading.Event, output: StdioService) -> None:
    """Add what every plugin has, whatever it is for."""
    alive = health.HealthServicer()
    alive.set(SERVICE, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(alive, server)
    controller_rpc.add_GRPCControllerServicer_to_server(ControllerService(stop), server)
    stdio_rpc.add_GRPCStdioServicer_to_server(output, server)
    broker_rpc.add_GRPCBrokerServicer_to_server(BrokerService(), server)
