"""What devices a plugin tells of."""

from __future__ import annotations

import time
from collections import Counter

from stormpool.conform.external.device.bench import FIRST_WITHIN, DeviceBench, ids_of
from stormpool.conform.rule import Broken, rule
from stormpool.errors import TimedOut
from stormpool.goplugin.attributes import wrong_with
from stormpool.goplugin.device import Group, group_of
from stormpool.goplugin.listening import Listening

LISTENED = 6.0  # seconds in which nothing is said twice


@rule(source="nomad client/client.go batchFirstFingerprintsTimeout: 50 s, then the node registers without")
def devices_are_told_of_soon(bench: DeviceBench) -> str:
    """It tells of its devices within 50 s, of none where there are none: an agent's start waits for it."""
    began = time.monotonic()
    instance = bench.launch()
    stream = instance.streams["Fingerprint"]
    try:
        stream.first(FIRST_WITHIN)
    except TimedOut:
        raise Broken(f"nothing within {FIRST_WITHIN:g} s") from None
    groups = bench.groups(instance)
    return f"{len(ids_of(groups))} devices in {len(groups)} groups after {time.monotonic() - began:.2f} s"


@rule(
    source="nomad device.go DeviceGroup.Validate, structs/attribute.go Validate: else all is dropped for good"
)
def devices_are_complete(bench: DeviceBench) -> None:
    """Every group has a vendor, a type and a name, every device an id, every attribute a value; a unit is one
    that agents know, and of a number."""
    for said in bench.messages():
        for each in said.device_group:
            _must_be_complete(group_of(each))
            for name, value in each.attributes.items():
                if wrong := wrong_with(value):
                    raise Broken(f"attribute {name} of {_named(group_of(each))}: {wrong}")


def _must_be_complete(group: Group) -> None:
    lacks = [what for what in ("vendor", "type", "name") if not getattr(group, what)]
    if lacks:
        raise Broken(f"a group without {', '.join(lacks)}: {_named(group)}")
    if not all(each.id for each in group.instances):
        raise Broken(f"a device without an id in {_named(group)}")


@rule(source="nomad device.proto ReserveRequest: ids are all that is said; devicemanager/manager.go Reserve")
def ids_are_unique(bench: DeviceBench) -> None:
    """No two devices of a plugin have one id, in whatever groups they are: Reserve has nothing but ids."""
    twice = [id for id, times in Counter(bench.ids()).items() if times > 1]
    if twice:
        raise Broken(f"told of more than once: {', '.join(twice)}")


@rule(source="nomad nomad/structs/devices.go AddAllocs: use is counted by id")
def ids_stay(bench: DeviceBench) -> None:
    """Killed and started again, and in a process beside it, it tells of the same devices by the same ids."""
    before = _sorted(bench.groups())
    beside = _sorted(bench.groups(bench.launch()))
    bench.come_back()
    for which, found in (("beside it", beside), ("after it was killed", _sorted(bench.groups()))):
        if found != before:
            raise Broken(f"{which} it tells of {_told(found)}, and before of {_told(before)}")


@rule(source="nomad nomad/structs/structs.go NodeDevice.Equal: ends with `return false`")
def nothing_is_told_twice(bench: DeviceBench) -> str:
    """While nothing changes it tells nothing: for each message with a device its node is registered anew."""
    bench.groups()
    began = time.monotonic()
    bench.main.streams["Fingerprint"].ended(LISTENED)
    for instance in bench.met:
        stream: Listening[object] = instance.streams.get("Fingerprint") or bench.main.streams["Fingerprint"]
        if any(a == b for a, b in zip(stream.said, stream.said[1:], strict=False)):
            raise Broken(f"{len(stream.said)} messages, with the same twice in a row")
    return f"listened for {time.monotonic() - began:.0f} s"


def _sorted(groups: tuple[Group, ...]) -> dict[tuple[str, str, str], list[str]]:
    """The ids of each group."""
    return {(each.vendor, each.type, each.name): sorted(ids_of([each])) for each in groups}


def _named(group: Group) -> str:
    return "/".join((group.vendor, group.type, group.name))


def _told(found: dict[tuple[str, str, str], list[str]]) -> str:
    return "; ".join(f"{'/'.join(group)}: {', '.join(ids)}"[:200] for group, ids in found.items()) or "none"


RULES = (devices_are_told_of_soon, devices_are_complete, ids_are_unique, ids_stay)
LAST = (nothing_is_told_twice,)
