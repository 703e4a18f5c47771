"""What a tap makes of messages: nothing that is compared is cut, and a volume has one name everywhere."""

import itertools
import json
from types import ModuleType
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from stormpool.checkers.lifecycle_order import lifecycle_order
from stormpool.history import Call, Event, History, Reply
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Held, Hello, Names
from stormpool.tap.messages import CUT, LONGEST, describe
from stormpool.verdict import Outcome

Field = descriptor_pb2.FieldDescriptorProto
FIELDS = {
    "CreateVolumeRequest": ["name", "secrets"],
    "CreateVolumeResponse": ["volume"],
    "NodeStageVolumeRequest": ["volume_id", "publish_context", "volume_context", "staging_target_path"],
    "ControllerPublishVolumeRequest": ["volume_id"],
    "ControllerPublishVolumeResponse": ["publish_context"],
    "ControllerGetCapabilitiesResponse": ["capabilities"],
    "Volume": ["volume_id"],
}


class Begun:
    zero = 100


@pytest.fixture(scope="module")
def protocol() -> ModuleType:
    """Messages of CSI's names and, but for the volume that was made, fields of text."""
    file = descriptor_pb2.FileDescriptorProto(name="few_of_csi.proto", syntax="proto3")
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for number, each in enumerate(fields, 1):
            field = message.field.add(
                name=each, number=number, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL
            )
            if each == "volume":
                field.type, field.type_name = Field.TYPE_MESSAGE, "Volume"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = ModuleType("few_of_csi")
    for name in FIELDS:
        setattr(made, name, message_factory.GetMessageClass(pool.FindMessageTypeByName(name)))
    return made


def call(
    protocol: ModuleType, names: Names, method: str, asked: Any, answer: Any = None
) -> list[Event | Held]:
    """One call through a tap of its own that holds it, and what that tells."""
    tap = Calls(Hello("hostpath", "client1", "alloc"), protocol, Begun(), itertools.count(1), names)
    about = json.dumps({"stream": 1, "path": f"/csi.v1.Any/{method}", "held": answer is None}).encode()
    body = b"" if answer is None else answer.SerializeToString()
    told = [
        wire.Record(0, 1, wire.OPENED, 110, 110, b"42"),
        wire.Record(1, 1, wire.ASKED, 120, 120, about + b"\n" + asked.SerializeToString()),
        wire.Record(2, 1, wire.ANSWERED, 140, 140, b'{"stream":1}\n' + body),
        wire.Record(3, 1, wire.TOLD, 150, 150, b'{"stream":1}\n'),
    ]
    return [event for record in told for event in tap.take(record)]


def test_a_volume_is_told_by_its_name_whatever_id_its_plugin_made_up(protocol: ModuleType) -> None:
    names: Names = {}
    made = protocol.CreateVolumeResponse(volume=protocol.Volume(volume_id="8f14e45f"))
    create, _ = call(protocol, names, "CreateVolume", protocol.CreateVolumeRequest(name="vol1"), made)
    assert isinstance(create, Call)
    assert (create.volume, create.args) == ("vol1", {"name": "vol1"})
    asked = protocol.ControllerPublishVolumeRequest(volume_id="8f14e45f")
    held, publish, _ = call(protocol, names, "ControllerPublishVolume", asked)
    assert isinstance(held, Held)
    assert isinstance(publish, Call)
    assert held.call.volume == publish.volume == "vol1"
    assert publish.args == {"volume_id": "8f14e45f"}


@pytest.mark.parametrize("names", [{}, {("hostpath", "vol1"): "vol1"}, {("zfs", "vol1"): "other"}])
def test_an_id_that_is_the_name_or_is_not_known_is_told_as_it_is(protocol: ModuleType, names: Names) -> None:
    asked = protocol.ControllerPublishVolumeRequest(volume_id="vol1")
    _, publish, _ = call(protocol, names, "ControllerPublishVolume", asked)
    assert isinstance(publish, Call)
    assert (publish.volume, publish.args) == ("vol1", {})


def test_contexts_and_capabilities_are_whole(protocol: ModuleType) -> None:
    long = json.dumps({"servers": "x" * 4000})
    stage = protocol.NodeStageVolumeRequest(
        volume_id="vol1", publish_context=long, volume_context=long, staging_target_path="p" * 4000
    )
    said = describe(protocol, "NodeStageVolumeRequest", stage.SerializeToString())
    assert said["publish_context"] == said["volume_context"] == long
    assert said["staging_target_path"] == "p" * LONGEST + CUT
    can = protocol.ControllerGetCapabilitiesResponse(capabilities=long)
    said = describe(protocol, "ControllerGetCapabilitiesResponse", can.SerializeToString())
    assert said["capabilities"] == long


def test_secrets_stay_where_they_are(protocol: ModuleType) -> None:
    asked = protocol.CreateVolumeRequest(name="vol1", secrets="hunter2")
    said = describe(protocol, "CreateVolumeRequest", asked.SerializeToString())
    assert said == {"name": "vol1"}


def test_what_an_old_history_has_cut_is_not_compared() -> None:
    cut = '{"servers":"xxx' + CUT
    made = '{"volume_context":{"servers":"xxxx"},"volume_id":"vol1"}'
    told: list[Event] = [
        Call(1, "a", "zfs", "client1", "CreateVolume", "vol1", sent=1),
        Reply(2, "a", result={"volume": made}),
        Call(3, "b", "zfs", "client1", "ControllerPublishVolume", "vol1", "client1", sent=3),
        Reply(4, "b", result={"publish_context": cut}),
    ]
    given = {"publish_context": cut, "volume_context": cut, "staging_target_path": "/s"}
    told += [
        Call(5, "c", "zfs", "client1", "NodeStageVolume", "vol1", args=given, sent=5),
        Reply(6, "c"),
    ]
    assert lifecycle_order(History(told)).outcome is Outcome.VALID
    other = [Reply(2, "a", result={"volume": made.replace("xxxx", cut)})]
    assert lifecycle_order(History([told[0], *other, *told[2:]])).outcome is Outcome.VALID
