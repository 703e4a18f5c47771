"""A plugin's process as its agent sees it: started, met, asked to end, and killed when it does not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from stormpool.errors import MachineError, TimedOut
from stormpool.goplugin.handshake import COOKIE, COOKIE_VALUE, SOCKET_DIRECTORY, Handshake, NoHandshake
from stormpool.goplugin.protos import controller, controller_rpc
from stormpool.wait import wait_until

START_TIMEOUT = 60.0  # seconds until a plugin must have said its line (go-plugin, client.go, `StartTimeout`)
GRACE = 2.0  # seconds that a plugin told to end has (go-plugin, client.go, `Kill`)
KILLED_WITHIN = 10.0  # seconds that a process may take to end after SIGKILL
RPC_TIMEOUT = 30.0  # seconds for an answer that is no stream


class Running(Protocol):
    """A process of a plugin, wherever it runs."""

    pid: int

    def alive(self) -> bool:
        """Whether it still runs."""

    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended."""

    def wait(self, timeout: float) -> int:
        """Wait until it ends, `timeout` seconds at most (`TimedOut`), and return its exit code."""


class Started(Protocol):
    """A plugin that was started: its process, and what it said by now."""

    process: Running

    def said(self) -> str:
        """Both of its outputs so far."""

    def here(self, address: str) -> str:
        """Where a socket of the plugin's is on this host."""


def environment(sockets: str) -> dict[str, str]:
    """What an agent gives a plugin in its environment; `sockets`: the directory to put its socket into."""
    return {
        COOKIE: COOKIE_VALUE,
        "PLUGIN_PROTOCOL_VERSIONS": "2",
        SOCKET_DIRECTORY: sockets,
        "TMPDIR": sockets,  # where versions of go-plugin before 1.5 put it
    }


class PluginProcess:
    """A plugin that runs, and a connection to it."""

    def __init__(self, started: Started) -> None:
        """Meet a plugin. Raises `MachineError` when it ends, or says no line that a plugin begins with."""
        self.process = started.process
        self.handshake = _handshake(started)
        self.channel = grpc.insecure_channel(f"unix:{started.here(self.handshake.address)}")
        self._started = started

    @property
    def said(self) -> str:
        """What it wrote to its outputs."""
        return self._started.said()

    def serving(self) -> bool:
        """Whether it says that it serves (go-plugin, grpc_client.go, `Ping`)."""
        asked = health_pb2.HealthCheckRequest(service="plugin")
        health: Any = health_pb2_grpc.HealthStub(self.channel)
        answer = health.Check(asked, timeout=RPC_TIMEOUT)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def shut_down(self) -> int:
        """Tell it to end, kill it when it does not; return its exit code (go-plugin, client.go, `Kill`)."""
        with contextlib.suppress(grpc.RpcError):
            controller_rpc.GRPCControllerStub(self.channel).Shutdown(controller.Empty(), timeout=GRACE)
        try:
            code = self.process.wait(GRACE)
        except TimedOut:
            return self.kill()
        self.channel.close()
        return code

    def kill(self) -> int:
        """SIGKILL, and return its exit code once it is gone."""
        self.process.signal(signal.SIGKILL)
        code = self.process.wait(KILLED_WITHIN)
        self.channel.close()
        return code


def _handshake(started: Started) -> Handshake:
    """The line the plugin begins with, among what it logs before."""

    def look() -> Handshake | None:
        alive = started.process.alive()
        for line in started.said().splitlines():
            with contextlib.suppress(NoHandshake):
                return Handshake.parse(line)
        if not alive:
            raise MachineError(
                f"the plugin ended before it said where it listens; it said:\n{started.said()[-2000:]}"
            )
        return None

    met = wait_until("the plugin says where it listens", look, timeout=START_TIMEOUT, every=0.01)
    assert met is not None
    return met


class LocalProcess:
    """A plugin on this host, with a directory of its own for its sockets and what it says."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="plugin")
        self._log = Path(self._directory.name) / "log"
        given = {**os.environ, **(env or {}), **environment(self._directory.name)}
        with self._log.open("wb") as log:
            self._popen = subprocess.Popen(
                list(argv), env=given, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.process: Running = _Child(self._popen)

    def said(self) -> str:
        """Both of its outputs so far."""
        return self._log.read_text(errors="replace")

    def here(self, address: str) -> str:
        """The same."""
        return address

    def __enter__(self) -> LocalProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._popen.kill()
        self._popen.wait()
        self._directory.cleanup()


class _Child:
    """A child of this process."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.pid = popen.pid
        self._popen = popen

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._popen.poll() is None

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._popen.send_signal(number)

    def wait(self, timeout: float) -> int:
        """Wait until it ends."""
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired as expired:
            raise TimedOut(f"process {self.pid} did not end within {timeout:g} s") from expired
