"""Serves a task driver (nomad, plugins/drivers/proto/driver.proto)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc

from stormpool.goplugin import schema
from stormpool.goplugin.attributes import attribute_to
from stormpool.goplugin.calls import over_when_gone, told, told_in_stream
from stormpool.goplugin.driver import (
    HANDLE_VERSION,
    DriverPlugin,
    exit_to,
    handle_of,
    status_to,
    task_of,
    usage_to,
)
from stormpool.goplugin.protos import driver, driver_rpc

HEALTH = driver.FingerprintResponse.HealthState


class DriverService(driver_rpc.DriverServicer):  # type: ignore[misc,name-defined]
    """Asks a driver, and tells what it says."""

    def __init__(self, plugin: DriverPlugin) -> None:
        self._plugin = plugin

    def TaskConfigSchema(self, request: Any, context: grpc.ServicerContext) -> Any:
        """What a task's `config` block may hold."""
        return driver.TaskConfigSchemaResponse(spec=schema.spec_of(self._plugin.task_config))

    def Capabilities(self, request: Any, context: grpc.ServicerContext) -> Any:
        """What the driver can do."""
        kinds, can = driver.DriverCapabilities, self._plugin.capabilities
        told_of = kinds(
            send_signals=can.signals,
            exec=can.exec,
            fs_isolation=kinds.FSIsolation.Value(can.isolation),
            mount_configs=kinds.ANY_MOUNTS if can.mounts else kinds.NO_MOUNTS,
        )
        return driver.CapabilitiesResponse(capabilities=told_of)

    @told_in_stream
    def Fingerprint(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """What is found on the node, whenever that changes."""
        for found in self._plugin.fingerprint(over_when_gone(context)):
            yield driver.FingerprintResponse(
                attributes={name: attribute_to(value) for name, value in found.attributes.items()},
                health=HEALTH.Value(found.health),
                health_description=found.why,
            )

    @told
    def StartTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Start a task. What goes wrong is an error of the call: agents do not read `result`."""
        state = self._plugin.start(task_of(request.task))
        handle = driver.TaskHandle(
            version=HANDLE_VERSION, config=request.task, state=driver.RUNNING, driver_state=state
        )
        return driver.StartTaskResponse(handle=handle)

    @told
    def RecoverTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Find a task again. Agents name it in the handle, and leave `task_id` empty."""
        self._plugin.recover(handle_of(request.handle))
        return driver.RecoverTaskResponse()

    @told
    def WaitTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Wait until a task has ended, and tell how."""
        ended = self._plugin.wait(request.task_id, over_when_gone(context))
        return driver.WaitTaskResponse(result=exit_to(ended), err=ended.error)

    @told
    def StopTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Ask a task to end, and make it after a time."""
        self._plugin.stop(request.task_id, request.timeout.ToNanoseconds() / 1e9, request.signal)
        return driver.StopTaskResponse()

    @told
    def DestroyTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Forget a task."""
        self._plugin.destroy(request.task_id, force=request.force)
        return driver.DestroyTaskResponse()

    @told
    def InspectTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """What is known of a task."""
        return status_to(self._plugin.inspect(request.task_id))

    @told_in_stream
    def TaskStats(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """What a task uses, again and again."""
        every = request.collection_interval.ToNanoseconds() / 1e9
        for usage in self._plugin.stats(request.task_id, every, over_when_gone(context)):
            yield driver.TaskStatsResponse(stats=usage_to(usage))

    @told_in_stream
    def TaskEvents(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """What happens to tasks."""
        for event in self._plugin.events(over_when_gone(context)):
            told_of = driver.DriverTaskEvent(
                task_id=event.task_id,
                alloc_id=event.alloc_id,
                task_name=event.task_name,
                message=event.message,
                annotations=event.annotations,
            )
            told_of.timestamp.GetCurrentTime()
            yield told_of

    @told
    def SignalTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Pass a signal on."""
        self._plugin.signal(request.task_id, request.signal)
        return driver.SignalTaskResponse()

    @told
    def ExecTask(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Run a command where a task runs."""
        timeout = request.timeout.ToNanoseconds() / 1e9
        done = self._plugin.exec(request.task_id, tuple(request.command), timeout)
        return driver.ExecTaskResponse(stdout=done.stdout, stderr=done.stderr, result=exit_to(done.exit))
