"""A device plugin: what it says and is asked, in plain values (nomad, plugins/device/device.go)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from stormpool.goplugin.attributes import Attribute, attribute_of, attribute_to, statistic_of, statistic_to
from stormpool.goplugin.protos import device as pb


class Instance(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device that a task can have."""

    id: str
    healthy: bool = True
    why: str = ""  # what its health is so for


class Group(msgspec.Struct, frozen=True, omit_defaults=True):
    """Devices of one vendor, type and name: the scheduler holds them for interchangeable."""

    vendor: str
    type: str
    name: str
    instances: tuple[Instance, ...] = ()
    attributes: Mapping[str, Attribute] = {}  # jobs constrain them as ${device.attr.NAME}


class Mount(msgspec.Struct, frozen=True, omit_defaults=True):
    """A directory of the node that a task is to have."""

    task: str
    host: str
    readonly: bool = False


class Special(msgspec.Struct, frozen=True, omit_defaults=True):
    """A special file of the node that a task is to have; `permissions`: of r, w and m."""

    task: str
    host: str
    permissions: str = "rwm"


class Reservation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a task must be given for its devices."""

    env: Mapping[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    devices: tuple[Special, ...] = ()


# Group → instance → statistic → value; groups are (vendor, type, name).
Statistics = Mapping[tuple[str, str, str], Mapping[str, Mapping[str, Attribute]]]


class DevicePlugin(Protocol):
    """What a device plugin can do. An error that it raises is what its agent hears."""

    name: str
    version: str

    @property
    def config(self) -> type[msgspec.Struct]:
        """The shape of its own configuration."""

    def configure(self, config: Any) -> None:
        """Take the configuration: before anything else is asked."""

    def fingerprint(self, over: threading.Event) -> Iterator[Sequence[Group]]:
        """All devices there are, again when that changes, until `over` is set: nobody listens any more."""

    def reserve(self, ids: Sequence[str]) -> Reservation:
        """Make devices ready for a task that is about to start. Nothing is ever asked when it has ended."""

    def stats(self, every: float, over: threading.Event) -> Iterator[Statistics]:
        """Statistics every so many seconds, until `over` is set."""


def group_to(group: Group) -> Any:
    """A group as a message."""
    return pb.DeviceGroup(
        vendor=group.vendor,
        device_type=group.type,
        device_name=group.name,
        devices=[
            pb.DetectedDevice(ID=each.id, healthy=each.healthy, health_description=each.why)
            for each in group.instances
        ],
        attributes={name: attribute_to(value) for name, value in group.attributes.items()},
    )


def group_of(said: Any) -> Group:
    """A group out of a message."""
    return Group(
        said.vendor,
        said.device_type,
        said.device_name,
        tuple(Instance(each.ID, each.healthy, each.health_description) for each in said.devices),
        {name: attribute_of(value) for name, value in said.attributes.items()},
    )


def groups_of(said: Any) -> tuple[Group, ...]:
    """All groups that a message of a fingerprint tells of."""
    return tuple(group_of(each) for each in said.device_group)


def reservation_to(made: Reservation) -> Any:
    """A reservation as a message."""
    return pb.ContainerReservation(
        envs=made.env,
        mounts=[
            pb.Mount(task_path=each.task, host_path=each.host, read_only=each.readonly)
            for each in made.mounts
        ],
        devices=[
            pb.DeviceSpec(task_path=each.task, host_path=each.host, permissions=each.permissions)
            for each in made.devices
        ],
    )


def reservation_of(said: Any) -> Reservation:
    """A reservation out of a message."""
    return Reservation(
        dict(said.envs),
        tuple(Mount(each.task_path, each.host_path, each.read_only) for each in said.mounts),
        tuple(Special(each.task_path, each.host_path, each.permissions) for each in said.devices),
    )


def statistics_to(told: Statistics) -> Any:
    """Statistics as a message."""
    groups = []
    for (vendor, kind, name), instances in told.items():
        group = pb.DeviceGroupStats(vendor=vendor, type=kind, name=name)
        for id, values in instances.items():
            instance = group.instance_stats[id]
            instance.timestamp.GetCurrentTime()
            for number, (what, value) in enumerate(values.items()):
                instance.stats.attributes[what].CopyFrom(statistic_to(value))
                if number == 0:
                    instance.summary.CopyFrom(statistic_to(value))
        groups.append(group)
    return pb.StatsResponse(groups=groups)


def statistics_of(said: Any) -> Statistics:
    """Statistics out of a message."""
    return {
        (group.vendor, group.type, group.name): {
            id: {what: statistic_of(value) for what, value in instance.stats.attributes.items()}
            for id, instance in group.instance_stats.items()
        }
        for group in said.groups
    }
