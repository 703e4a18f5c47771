"""A task driver: what it says and is asked, in plain values (nomad, plugins/drivers/driver.go)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from stormpool.goplugin.attributes import Attribute
from stormpool.goplugin.device import Mount, Special
from stormpool.goplugin.protos import driver as pb

HANDLE_VERSION = 1
NOT_FOUND = "task not found for given id"  # nomad, plugins/drivers/errors.go


class TaskNotFound(Exception):
    """A driver was asked of a task that it does not know."""

    def __init__(self) -> None:
        super().__init__(NOT_FOUND)


class NotStarted(Exception):
    """A task could not be started; `again`: it may be another time, and the agent tries as its job says."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


class Isolation(StrEnum):
    """What of the node's files a task sees: all, an own root made of them, an image.

    Unveiled, which later agents know beside these, is all of them to a task's directories and variables.
    """

    NONE = "NONE"
    CHROOT = "CHROOT"
    IMAGE = "IMAGE"


class Capabilities(msgspec.Struct, frozen=True):
    """What a driver can do."""

    signals: bool = False  # send signals to a task
    exec: bool = False  # run a command beside a task
    isolation: Isolation = Isolation.NONE
    mounts: bool = True  # give a task directories of the node: volumes, too


class Health(StrEnum):
    """Whether a node has what the driver takes; undetected: it never will."""

    UNDETECTED = "UNDETECTED"
    UNHEALTHY = "UNHEALTHY"
    HEALTHY = "HEALTHY"


class Fingerprint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a driver finds on its node."""

    health: Health | str  # text where a driver that is driven says a number that is none
    why: str = ""
    attributes: Mapping[str, Attribute] = {}


class Task(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A task to be run."""

    id: str  # ALLOCATION/NAME/...
    name: str
    alloc_id: str
    config: bytes = b""  # the job's `config` block, as MessagePack
    env: Mapping[str, str] = {}  # what its devices are for included
    mounts: tuple[Mount, ...] = ()
    devices: tuple[Special, ...] = ()
    user: str = ""
    alloc_dir: str  # the allocation's directory; the task's is NAME below it
    stdout: str  # named pipes, that the agent reads
    stderr: str
    job: str = ""
    memory_bytes: int = 0  # 0: no limit
    cpu_shares: int = 0
    cgroup: str = ""  # that the agent made for it: named to drivers from Nomad 1.7 on (task_runner.go)

    @property
    def directory(self) -> str:
        """The task's own directory."""
        return f"{self.alloc_dir}/{self.name}"


class Handle(msgspec.Struct, frozen=True):
    """What finds a running task again: the agent keeps it for the driver."""

    task: Task
    state: bytes  # the driver's own
    version: int = HANDLE_VERSION


class Exit(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a task ended; `error`: that it is not known how."""

    code: int = 0
    signal: int = 0
    oom_killed: bool = False
    error: str = ""


class State(StrEnum):
    """What a task does."""

    UNKNOWN = "UNKNOWN"
    RUNNING = "RUNNING"
    EXITED = "EXITED"


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a driver knows of a task; times are of the wall clock, in seconds."""

    id: str
    name: str
    state: State | str  # text where a driver that is driven says a number that is none
    started: float = 0.0
    completed: float = 0.0
    exit: Exit | None = None
    attributes: Mapping[str, str] = {}


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task uses: seconds of processors so far are the driver's to make percents of."""

    id: str
    memory_bytes: int = 0
    cpu_percent: float = 0.0


class TaskEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a driver tells of a task."""

    task_id: str
    alloc_id: str
    task_name: str
    message: str
    annotations: Mapping[str, str] = {}


class Executed(msgspec.Struct, frozen=True):
    """What a command beside a task said, and how it ended."""

    stdout: bytes
    stderr: bytes
    exit: Exit


class DriverPlugin(Protocol):
    """What a task driver can do.

    An error that it raises is what its agent hears: `TaskNotFound` of a task it does not know, `NotStarted`.
    """

    name: str
    version: str
    capabilities: Capabilities

    @property
    def config(self) -> type[msgspec.Struct]:
        """The shape of its own configuration."""

    @property
    def task_config(self) -> type[msgspec.Struct]:
        """The shape of a task's `config` block."""

    def configure(self, config: Any) -> None:
        """Take the configuration: before anything else is asked."""

    def fingerprint(self, over: threading.Event) -> Iterator[Fingerprint]:
        """What is found on the node, again whenever that changes, until `over` is set."""

    def start(self, task: Task) -> bytes:
        """Start a task; return what finds it again. Raises `NotStarted`; then nothing of it may be left."""

    def recover(self, handle: Handle) -> None:
        """Find a task again that an earlier process of this driver started. Raises when it cannot."""

    def wait(self, id: str, over: threading.Event) -> Exit:
        """Return how a task has ended, once it has; anything when `over` is set: nobody listens any more."""

    def stop(self, id: str, timeout: float, signal: str) -> None:
        """Send a task a signal, the driver's own when none is named; kill it after so many seconds."""

    def destroy(self, id: str, *, force: bool) -> None:
        """Forget a task that has ended; end one that has not when forced to, refuse when not."""

    def inspect(self, id: str) -> Status:
        """What is known of a task."""

    def stats(self, id: str, every: float, over: threading.Event) -> Iterator[Usage]:
        """What a task uses, every so many seconds, until it or `over` ends."""

    def events(self, over: threading.Event) -> Iterator[TaskEvent]:
        """What happens to tasks, until `over` is set."""

    def signal(self, id: str, name: str) -> None:
        """Send a task a signal by its name."""

    def exec(self, id: str, argv: Sequence[str], timeout: float) -> Executed:
        """Run a command where a task runs."""


def named(kinds: Any, number: int) -> str:
    """The name of a number of an enumeration (protobuf); of one that has none, the number as text."""
    found = {each.number: each.name for each in kinds.DESCRIPTOR.values}
    return found.get(number) or f"number {number}"


def isolation_of(said: int) -> Isolation:
    """What an isolation is taken for: one that agents do not know for none (plugins/drivers/client.go)."""
    name = named(pb.DriverCapabilities.FSIsolation, said)
    return Isolation(name) if name in Isolation.__members__ else Isolation.NONE


def health_of(said: int) -> Health | str:
    """A health out of a message."""
    name = named(pb.FingerprintResponse.HealthState, said)
    return Health(name) if name in Health.__members__ else name


def state_of(said: int) -> State | str:
    """A state out of a message."""
    name = named(pb.TaskState, said)
    return State(name) if name in State.__members__ else name


def task_of(said: Any) -> Task:
    """A task out of a message."""
    linux = said.resources.linux_resources
    return Task(
        id=said.id,
        name=said.name,
        alloc_id=said.alloc_id,
        config=said.msgpack_driver_config,
        env={**said.env, **said.device_env},
        mounts=tuple(Mount(each.task_path, each.host_path, each.readonly) for each in said.mounts),
        devices=tuple(
            Special(each.task_path, each.host_path, each.cgroup_permissions) for each in said.devices
        ),
        user=said.user,
        alloc_dir=said.alloc_dir,
        stdout=said.stdout_path,
        stderr=said.stderr_path,
        job=said.job_name,
        memory_bytes=linux.memory_limit_bytes,
        cpu_shares=linux.cpu_shares,
        cgroup=linux.cpuset_cgroup,
    )


def task_to(task: Task) -> Any:
    """A task as a message."""
    linux = pb.LinuxResources(
        memory_limit_bytes=task.memory_bytes, cpu_shares=task.cpu_shares, cpuset_cgroup=task.cgroup
    )
    allocated = pb.AllocatedTaskResources(
        cpu=pb.AllocatedCpuResources(cpu_shares=task.cpu_shares),
        memory=pb.AllocatedMemoryResources(memory_mb=task.memory_bytes >> 20),
    )
    return pb.TaskConfig(
        id=task.id,
        name=task.name,
        alloc_id=task.alloc_id,
        msgpack_driver_config=task.config,
        env=task.env,
        mounts=[
            pb.Mount(task_path=each.task, host_path=each.host, readonly=each.readonly) for each in task.mounts
        ],
        devices=[
            pb.Device(task_path=each.task, host_path=each.host, cgroup_permissions=each.permissions)
            for each in task.devices
        ],
        user=task.user,
        alloc_dir=task.alloc_dir,
        stdout_path=task.stdout,
        stderr_path=task.stderr,
        job_name=task.job,
        resources=pb.Resources(allocated_resources=allocated, linux_resources=linux),
    )


def handle_of(said: Any) -> Handle:
    """A handle out of a message."""
    return Handle(task_of(said.config), said.driver_state, said.version)


def handle_to(handle: Handle) -> Any:
    """A handle as a message."""
    return pb.TaskHandle(
        version=handle.version, config=task_to(handle.task), state=pb.RUNNING, driver_state=handle.state
    )


def exit_of(said: Any, error: str = "") -> Exit:
    """How a task ended, out of a message."""
    return Exit(said.exit_code, said.signal, said.oom_killed, error)


def exit_to(ended: Exit) -> Any:
    """How a task ended, as a message."""
    return pb.ExitResult(exit_code=ended.code, signal=ended.signal, oom_killed=ended.oom_killed)


def status_of(said: Any) -> Status:
    """What is known of a task, out of the answer that says it."""
    task = said.task
    return Status(
        task.id,
        task.name,
        state_of(task.state),
        task.started_at.ToNanoseconds() / 1e9,
        task.completed_at.ToNanoseconds() / 1e9,
        exit_of(task.result) if task.HasField("result") else None,
        dict(said.driver.attributes),
    )


def status_to(status: Status) -> Any:
    """What is known of a task, as the answer that says it."""
    told = pb.TaskStatus(id=status.id, name=status.name, state=pb.TaskState.Value(status.state))
    told.started_at.FromNanoseconds(int(status.started * 1e9))
    told.completed_at.FromNanoseconds(int(status.completed * 1e9))
    # Always there: agents of Go read it without looking whether it is (plugins/drivers/utils.go).
    told.result.CopyFrom(exit_to(status.exit or Exit()))
    driver = pb.TaskDriverStatus(attributes=status.attributes)
    return pb.InspectTaskResponse(task=told, driver=driver)


def usage_of(said: Any) -> Usage:
    """What a task uses, out of a message."""
    usage = said.agg_resource_usage
    return Usage(said.id, usage.memory.rss, usage.cpu.percent)


def usage_to(usage: Usage) -> Any:
    """What a task uses, as a message."""
    memory, cpu = pb.MemoryUsage, pb.CPUUsage
    used = pb.TaskResourceUsage(
        cpu=cpu(percent=usage.cpu_percent, measured_fields=[cpu.PERCENT]),
        memory=memory(rss=usage.memory_bytes, usage=usage.memory_bytes, measured_fields=[memory.RSS]),
    )
    told = pb.TaskStats(id=usage.id, agg_resource_usage=used)
    told.timestamp.GetCurrentTime()
    return told
