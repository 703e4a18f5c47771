"""What a device plugin counts."""

from __future__ import annotations

import time

from stormpool.conform.external.asking import heard
from stormpool.conform.external.device.bench import DeviceBench, ids_of
from stormpool.conform.rule import Broken, NotOffered, rule
from stormpool.goplugin.device import Statistics
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.protos import device, device_rpc

EVERY = 0.5  # seconds between two messages
FIRST_WITHIN = 10.0  # seconds
MESSAGES = 4  # are listened for
SPREAD = 3.0  # times as often or as seldom as asked for


@rule(source="nomad plugins/device/device.go Stats; devicemanager/instance.go collectStats")
def statistics_come_in_time(bench: DeviceBench) -> str:
    """Statistics come about as often as asked for, and the stream does not end by itself."""
    stream = _stats(bench)
    began = time.monotonic()
    heard(stream, MESSAGES * EVERY * SPREAD, len(stream.said) + MESSAGES - 1)
    took, over, count = time.monotonic() - began, stream.over, len(stream.said)
    stream.stop()
    if over:
        raise Broken(f"the stream ended after {count} messages: {stream.error or 'OK'}")
    if count < MESSAGES or took < (MESSAGES - 1) * EVERY / SPREAD:
        raise Broken(f"{count} messages in {took:.1f} s, one every {EVERY:g} s was asked for")
    return f"every {took / (MESSAGES - 1):.2f} s"


@rule(source="nomad client/devicemanager/manager.go DeviceStats; client/structs: by group and instance")
def statistics_are_of_its_devices(bench: DeviceBench) -> None:
    """Statistics are of groups and devices that it tells of."""
    stream = _stats(bench)
    said = stream.said[-1]
    stream.stop()
    known = {(each.vendor, each.type, each.name): set(ids_of([each])) for each in bench.groups()}
    for group, instances in said.items():
        if group not in known:
            raise Broken(f"statistics of a group {'/'.join(group)}, which it does not tell of")
        if set(instances) - known[group]:
            raise Broken(
                f"statistics of {', '.join(set(instances) - known[group])}, which are no devices of it"
            )


@rule(source="nomad plugins/device/util.go convertProtoDeviceStats: without a time they are nil")
def statistics_have_their_time(bench: DeviceBench) -> None:
    """The statistics of each device say when they were taken: an agent drops others."""
    _stats(bench).stop()
    request = device.StatsRequest()
    request.collection_interval.FromNanoseconds(int(EVERY * 1e9))
    stub = device_rpc.DevicePluginStub(bench.main.plugin.channel)
    stream = Listening(stub.Stats(request), lambda said: said)
    said = heard(stream, FIRST_WITHIN)
    stream.stop()
    for group in said[0].groups if said else ():
        late = [id for id, each in group.instance_stats.items() if not each.HasField("timestamp")]
        if late:
            raise Broken(f"no time in the statistics of {', '.join(late)}")


def _stats(bench: DeviceBench) -> Listening[Statistics]:
    """The stream, once it has told something. Raises `NotOffered` where it tells nothing or of nothing."""
    bench.some(1)
    stream = bench.main.driven.stats(EVERY)
    said = heard(stream, FIRST_WITHIN)
    if not said or not any(said[-1].values()):
        stream.stop()
        raise NotOffered(f"it tells of no statistics ({stream.error or 'nothing came'})"[:300])
    return stream


RULES = (statistics_come_in_time, statistics_are_of_its_devices, statistics_have_their_time)
