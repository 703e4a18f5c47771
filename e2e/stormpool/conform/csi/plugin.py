"""The plugin's process on its node, and the connection to it: started, killed, started again."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import grpc

from stormpool import stubs
from stormpool.conform.rule import Broken
from stormpool.errors import MachineError, Misuse, TimedOut
from stormpool.lab import CsiPlugin
from stormpool.node import Node, Nodes, Process
from stormpool.wait import wait_until

SERVES_WITHIN = 30.0  # seconds until a plugin that was started says that it is ready
ENDS_WITHIN = 10.0  # seconds until a process that was killed is gone
CALL = 60.0  # seconds a call may take
# A connection of its own to each process, tried again at once: a plugin is back within milliseconds.
CHANNEL = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
)


class Refused(Exception):
    """A call was answered with another status than OK."""

    def __init__(self, method: str, error: grpc.RpcError) -> None:
        self.code: str = error.code().name
        super().__init__(f"{method} answered {self.code}: {error.details()}")


class Plugin:
    """One plugin that serves on a node."""

    def __init__(self, spec: CsiPlugin, node: Node, nodes: Nodes, logs: Path) -> None:
        stubs.ensure("csi")
        self.pb, self._rpc = stubs.load("csi", "csi_pb2"), stubs.load("csi", "csi_pb2_grpc")
        socket = f"{node.spec.name}-csi.sock"
        self.endpoint = f"unix://{nodes.door}/{socket}"
        self.log = logs / f"{spec.id}.log"
        self._node = node
        self._socket = Path(nodes.sockets.to(socket))
        self._argv, self._env = _command(spec, self.endpoint, node, nodes)
        self._takes_a_stale_socket = True
        self._process: Process | None = None
        self._channel: grpc.Channel | None = None

    def start(self) -> None:
        """Start the plugin and wait until it is ready. Raises `MachineError` with its last words."""
        self._process = self._node.start("the plugin", self._argv, env=self._env, log=self.log)
        self._channel = grpc.insecure_channel(f"unix:{self._socket}", options=CHANNEL)
        try:
            state = wait_until(
                "the plugin is ready",
                self._state,
                lambda state: state != "not ready",
                timeout=SERVES_WITHIN,
                every=0.01,
                ignoring=(Refused,),
            )
        except TimedOut as late:
            raise MachineError(f"{late}; its log ends: {self._last_words()}") from late
        if state == "ended":
            raise MachineError(f"the plugin ended with {self._process.code()}: {self._last_words()}")

    @property
    def lives(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.alive()

    def kill(self) -> None:
        """SIGKILL to its process; its socket stays, as it does wherever a plugin crashes."""
        if self._process is not None:
            self._process.signal(signal.SIGKILL)
            self._process.wait(ENDS_WITHIN)
        if self._channel is not None:
            self._channel.close()
        self._process = self._channel = None

    def stop(self) -> None:
        """End it for good, and take its socket away."""
        self.kill()
        self._socket.unlink(missing_ok=True)

    def start_again(self) -> None:
        """Kill it and start it again, its socket being where it was. Raises `MachineError`."""
        self.kill()
        self.start()

    def come_back(self) -> None:
        """Kill it and start it again, without its socket if that is in its way. Raises `Broken`."""
        self.kill()
        if not self._takes_a_stale_socket:
            self.stop()
        try:
            self.start()
        except MachineError as error:
            if not self._takes_a_stale_socket:
                raise Broken(f"killed, it did not serve again: {error}") from error
            self._takes_a_stale_socket = False
            self.come_back()

    def send(self, method: str, request: Any) -> Any:
        """Send a call and return its future at once."""
        return self._method(method).future(request, timeout=CALL)

    def call(self, method: str, request: Any, within: float = CALL) -> Any:
        """Call and return the answer. Raises `Refused` when that is not OK."""
        try:
            return self._method(method)(request, timeout=within)
        except grpc.RpcError as error:
            raise Refused(method, error) from error

    def _method(self, method: str) -> Any:
        services = self.pb.DESCRIPTOR.services_by_name
        name = next(name for name in services if method in services[name].methods_by_name)
        return getattr(getattr(self._rpc, f"{name}Stub")(self._channel), method)

    def _state(self) -> str:
        """Ended, ready or not ready; one that does not say is ready (Probe, `ready`)."""
        if not self.lives:
            return "ended"
        answer = self.call("Probe", self.pb.ProbeRequest(), within=1.0)
        return "not ready" if answer.HasField("ready") and not answer.ready.value else "ready"

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])[-400:] or "it said nothing"


def _command(spec: CsiPlugin, endpoint: str, node: Node, nodes: Nodes) -> tuple[list[str], dict[str, str]]:
    """The argv and environment of a plugin on a node."""
    words = {"endpoint": endpoint, "node": node.spec.name, "cloud": nodes.cloud, "role": "monolith"}
    try:
        argv = [word.format_map(words) for word in spec.argv]
        env = {name: value.format_map(words) for name, value in spec.env.items()}
    except (KeyError, ValueError, IndexError) as error:
        raise Misuse(
            f"{' '.join(spec.argv)}: {error} stands for nothing",
            fix=f"say {{{'}, {'.join(words)}}}, and other braces twice",
        ) from error
    return argv, {**env, "CSI_ENDPOINT": endpoint}
