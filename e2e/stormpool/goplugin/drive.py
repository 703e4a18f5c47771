"""Drives a plugin without an agent: asks what an agent would ask, and tells what it says in plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from stormpool.goplugin import schema, topology
from stormpool.goplugin.attributes import attribute_of
from stormpool.goplugin.device import Group, Reservation, Statistics, groups_of, reservation_of, statistics_of
from stormpool.goplugin.driver import (
    Capabilities,
    Executed,
    Exit,
    Fingerprint,
    Handle,
    Status,
    Task,
    TaskEvent,
    Usage,
    exit_of,
    handle_of,
    handle_to,
    health_of,
    isolation_of,
    named,
    status_of,
    task_to,
    usage_of,
)
from stormpool.goplugin.handshake import API
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.process import RPC_TIMEOUT, PluginProcess
from stormpool.goplugin.protos import base, base_rpc, device, device_rpc, driver, driver_rpc


class Info(msgspec.Struct, frozen=True):
    """What a plugin says it is."""

    name: str
    kind: str  # DEVICE or DRIVER
    version: str
    apis: tuple[str, ...]


class Driven:
    """What every plugin of Nomad can be asked. Errors of gRPC are passed on as they are (`grpc.RpcError`)."""

    def __init__(self, plugin: PluginProcess) -> None:
        self.plugin = plugin
        self._base = base_rpc.BasePluginStub(plugin.channel)

    def info(self) -> Info:
        """Name, kind and versions."""
        said = self._base.PluginInfo(base.PluginInfoRequest(), timeout=RPC_TIMEOUT)
        apis = tuple(said.plugin_api_versions)
        return Info(said.name, named(base.PluginType, said.type), said.plugin_version, apis)

    def config_spec(self) -> Any:
        """What can be configured, as an `hclspec.Spec`."""
        return self._base.ConfigSchema(base.ConfigSchemaRequest(), timeout=RPC_TIMEOUT).spec

    def configure(self, config: dict[str, Any] | None = None) -> None:
        """Hand a configuration over: what is not given is as the plugin's schema has it."""
        whole = schema.complete(self.config_spec(), config or {})
        asked = base.SetConfigRequest(msgpack_config=schema.encode(whole), plugin_api_version=API)
        asked.nomad_config.driver.ClientMinPort, asked.nomad_config.driver.ClientMaxPort = 14000, 14512
        topology.add_to(asked.nomad_config.driver)
        self._base.SetConfig(asked, timeout=RPC_TIMEOUT)


class DrivenDevice(Driven):
    """A device plugin."""

    def __init__(self, plugin: PluginProcess) -> None:
        super().__init__(plugin)
        self._device = device_rpc.DevicePluginStub(plugin.channel)

    def fingerprint(self) -> Listening[tuple[Group, ...]]:
        """What devices there are, as it is told."""
        return Listening(self._fingerprint(), groups_of)

    def fingerprint_messages(self) -> Listening[Any]:
        """The same, as the messages that come."""
        return Listening(self._fingerprint(), lambda said: said)

    def _fingerprint(self) -> Any:
        return self._device.Fingerprint(device.FingerprintRequest())

    def reserve(self, *ids: str) -> Reservation:
        """Have devices made ready for a task."""
        answer = self._device.Reserve(device.ReserveRequest(device_ids=ids), timeout=RPC_TIMEOUT)
        return reservation_of(answer.container_res)

    def stats(self, every: float = 1.0) -> Listening[Statistics]:
        """Statistics, as they are told; `every` is in seconds."""
        asked = device.StatsRequest()
        asked.collection_interval.FromNanoseconds(int(every * 1e9))
        return Listening(self._device.Stats(asked), statistics_of)


class DrivenDriver(Driven):
    """A task driver."""

    def __init__(self, plugin: PluginProcess) -> None:
        super().__init__(plugin)
        self._driver = driver_rpc.DriverStub(plugin.channel)

    def task_spec(self) -> Any:
        """What a task's `config` block may hold, as an `hclspec.Spec`."""
        return self._driver.TaskConfigSchema(driver.TaskConfigSchemaRequest(), timeout=RPC_TIMEOUT).spec

    def task_config(self, config: dict[str, Any]) -> bytes:
        """A task's `config` block as an agent would hand it over."""
        return schema.encode(schema.complete(self.task_spec(), config))

    def capabilities(self) -> Capabilities:
        """What the driver can do."""
        can = self._driver.Capabilities(driver.CapabilitiesRequest(), timeout=RPC_TIMEOUT).capabilities
        kinds = driver.DriverCapabilities
        isolation = isolation_of(can.fs_isolation)
        return Capabilities(can.send_signals, can.exec, isolation, can.mount_configs != kinds.NO_MOUNTS)

    def fingerprint(self) -> Listening[Fingerprint]:
        """What is found on the node, as it is told."""
        return Listening(self._driver.Fingerprint(driver.FingerprintRequest()), _fingerprint_of)

    def start(self, task: Task) -> Handle:
        """Start a task."""
        answer = self._driver.StartTask(driver.StartTaskRequest(task=task_to(task)), timeout=RPC_TIMEOUT)
        return handle_of(answer.handle)

    def recover(self, handle: Handle) -> None:
        """Have a task found again; asked as agents ask, with the task's id in the handle alone."""
        self._driver.RecoverTask(driver.RecoverTaskRequest(handle=handle_to(handle)), timeout=RPC_TIMEOUT)

    def wait(self, id: str, timeout: float = RPC_TIMEOUT) -> Exit:
        """Return how a task ended, once it has."""
        answer = self._driver.WaitTask(driver.WaitTaskRequest(task_id=id), timeout=timeout)
        return exit_of(answer.result, answer.err)

    def stop(self, id: str, timeout: float = 5.0, signal: str = "SIGTERM") -> None:
        """Have a task end."""
        asked = driver.StopTaskRequest(task_id=id, signal=signal)
        asked.timeout.FromNanoseconds(int(timeout * 1e9))
        self._driver.StopTask(asked, timeout=timeout + RPC_TIMEOUT)

    def destroy(self, id: str, *, force: bool = False) -> None:
        """Have a task forgotten."""
        self._driver.DestroyTask(driver.DestroyTaskRequest(task_id=id, force=force), timeout=RPC_TIMEOUT)

    def inspect(self, id: str) -> Status:
        """What is known of a task."""
        return status_of(self._driver.InspectTask(driver.InspectTaskRequest(task_id=id), timeout=RPC_TIMEOUT))

    def stats(self, id: str, every: float = 1.0) -> Listening[Usage]:
        """What a task uses, as it is told; `every` is in seconds."""
        asked = driver.TaskStatsRequest(task_id=id)
        asked.collection_interval.FromNanoseconds(int(every * 1e9))
        return Listening(self._driver.TaskStats(asked), lambda said: usage_of(said.stats))

    def events(self) -> Listening[TaskEvent]:
        """What happens to tasks, as it is told."""
        return Listening(self._driver.TaskEvents(driver.TaskEventsRequest()), _event_of)

    def signal(self, id: str, name: str) -> None:
        """Send a task a signal."""
        self._driver.SignalTask(driver.SignalTaskRequest(task_id=id, signal=name), timeout=RPC_TIMEOUT)

    def exec(self, id: str, argv: Sequence[str], timeout: float = 5.0) -> Executed:
        """Run a command where a task runs."""
        asked = driver.ExecTaskRequest(task_id=id, command=argv)
        asked.timeout.FromNanoseconds(int(timeout * 1e9))
        said = self._driver.ExecTask(asked, timeout=timeout + RPC_TIMEOUT)
        return Executed(said.stdout, said.stderr, exit_of(said.result))


def _fingerprint_of(said: Any) -> Fingerprint:
    attributes = {name: attribute_of(value) for name, value in said.attributes.items()}
    return Fingerprint(health_of(said.health), said.health_description, attributes)


def _event_of(said: Any) -> TaskEvent:
    return TaskEvent(said.task_id, said.alloc_id, said.task_name, said.message, dict(said.annotations))
