"""The bench of a device plugin: what devices there are, and what is reserved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stormpool.conform.external.asking import heard
from stormpool.conform.external.bench import Bench
from stormpool.conform.external.plugin import Instance
from stormpool.conform.rule import Broken, NotOffered
from stormpool.errors import MachineError
from stormpool.goplugin.device import Group, Reservation, groups_of
from stormpool.goplugin.drive import DrivenDevice
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.process import PluginProcess
from stormpool.goplugin.protos import base

# Seconds: an agent that starts waits no longer, and registers without (nomad, client/client.go,
# batchFirstFingerprintsTimeout).
FIRST_WITHIN = 50.0
HEARD_WITHIN = 0.3  # seconds for a message of a stream that another stream may have had already


class DeviceBench(Bench[DrivenDevice]):
    """A device plugin on its node."""

    kind = base.DEVICE

    def drive(self, plugin: PluginProcess) -> DrivenDevice:
        """What drives it."""
        return DrivenDevice(plugin)

    def listen(self, instance: Instance[DrivenDevice]) -> None:
        """Listen to what devices it tells of."""
        instance.streams["Fingerprint"] = instance.driven.fingerprint_messages()

    def put_to_use(self) -> None:
        """Reserve a device, where there is any."""
        for id in self.healthy()[:1]:
            self.ask.reserve(id)

    def open_streams(self, instance: Instance[DrivenDevice]) -> None:
        """Its statistics, which agents ask for anew after an error, and its devices."""
        streams: tuple[Listening[Any], ...] = (instance.driven.stats(0.05), instance.driven.fingerprint())
        heard(streams[0], HEARD_WITHIN)
        for stream in streams:
            stream.stop()

    def messages(self, instance: Instance[DrivenDevice] | None = None) -> Sequence[Any]:
        """What a process has told of its devices so far, the main one when none is given.

        Raises `Broken` when it tells nothing.
        """
        stream = (instance or self.main).streams["Fingerprint"]
        try:
            stream.first(FIRST_WITHIN)
        except MachineError as error:
            raise Broken(f"it told of no devices: {error}") from error
        return tuple(stream.said)

    def groups(self, instance: Instance[DrivenDevice] | None = None) -> tuple[Group, ...]:
        """What it told last."""
        return groups_of(self.messages(instance)[-1])

    def ids(self) -> list[str]:
        """The ids of the devices it tells of."""
        return ids_of(self.groups())

    def healthy(self) -> list[str]:
        """The ids of those that it calls healthy: agents have no other reserved."""
        return [id for group in self.groups() for id in healthy_of(group)]

    def some(self, count: int) -> list[str]:
        """So many ids of healthy devices, of one group. Raises `NotOffered` where there are fewer."""
        for group in self.groups():
            if len(healthy_of(group)) >= count:
                return healthy_of(group)[:count]
        ill = [each for group in self.groups() for each in group.instances if not each.healthy]
        why = "".join(f"; {each.id} is not healthy: {each.why or 'no more'}" for each in ill[:3])
        raise NotOffered(
            f"it tells of no {count} healthy devices of one kind: --config may give it more{why}"
        )


def ids_of(groups: Sequence[Group]) -> list[str]:
    """The ids of all devices."""
    return [each.id for group in groups for each in group.instances]


def healthy_of(group: Group) -> list[str]:
    """The ids of a group's healthy devices."""
    return [each.id for each in group.instances if each.healthy]


def shape(made: Reservation) -> tuple[object, ...]:
    """What a task finds of a reservation: which variables, mounts and special files; not what is in them."""
    return (
        sorted(made.env),
        sorted((each.task, each.readonly) for each in made.mounts),
        sorted((each.task, each.permissions) for each in made.devices),
    )
