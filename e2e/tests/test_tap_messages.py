"""What a tap makes of messages: nothing that is compared is cut, and a volume has one name everywhere."""

import itertools
import json
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from stormpool.checkers.lifecycle_order import lifecycle_order
from stormpool.events import Call, Event, Gone, Message, Reply
from stormpool.history import History
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Held, Hello, Names
from stormpool.tap.messages import CUT, LONGEST, Protocol
from stormpool.verdict import Outcome

Field = descriptor_pb2.FieldDescriptorProto
METHODS = {  # of each the fields of its request, and of its answer
    "CreateVolume": (["name", "secrets"], ["volume"]),
    "NodeStageVolume": (["volume_id", "publish_context", "volume_context", "staging_target_path"], []),
    "ControllerPublishVolume": (["volume_id"], ["publish_context"]),
    "ControllerGetCapabilities": ([], ["capabilities"]),
    "Watch": ([], ["news", "env"]),
}
STREAM = "Watch"


class Begun:
    zero = 100


class Few(SimpleNamespace):
    """Messages by name, and the protocol they are of."""

    protocol: Protocol


def path(method: str) -> str:
    return f"/few.Any/{method}"


@pytest.fixture(scope="module")
def few() -> Few:
    """Messages of CSI's names and, but for the volume that was made, fields of text; and a stream."""
    file = descriptor_pb2.FileDescriptorProto(name="few.proto", package="few", syntax="proto3")
    service = file.service.add(name="Any")
    kinds = {"Volume": ["volume_id"]}
    for name, (asked, answered) in METHODS.items():
        kinds |= {f"{name}Request": asked, f"{name}Response": answered}
        service.method.add(
            name=name,
            input_type=f".few.{name}Request",
            output_type=f".few.{name}Response",
            server_streaming=name == STREAM,
        )
    for name, fields in kinds.items():
        message = file.message_type.add(name=name)
        for number, each in enumerate(fields, 1):
            field = message.field.add(
                name=each, number=number, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL
            )
            if each == "volume":
                field.type, field.type_name = Field.TYPE_MESSAGE, ".few.Volume"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    messages = {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"few.{name}")) for name in kinds
    }
    return Few(protocol=Protocol([pool.FindFileByName("few.proto")]), **messages)


def call(few: Few, names: Names, method: str, asked: Any, answer: Any = None) -> list[Event | Held]:
    """One call through a tap of its own that holds it, and what that tells."""
    tap = Calls(Hello("hostpath", "client1", "alloc"), few.protocol, Begun(), itertools.count(1), names)
    about = json.dumps({"stream": 1, "path": path(method), "held": answer is None}).encode()
    body = b"" if answer is None else answer.SerializeToString()
    told = [
        wire.Record(0, 1, wire.OPENED, 110, 110, b"42"),
        wire.Record(1, 1, wire.ASKED, 120, 120, about + b"\n" + asked.SerializeToString()),
        wire.Record(2, 1, wire.ANSWERED, 140, 140, b'{"stream":1}\n' + body),
        wire.Record(3, 1, wire.TOLD, 150, 150, b'{"stream":1}\n'),
    ]
    return [event for record in told for event in tap.take(record)]


def test_a_volume_is_told_by_its_name_whatever_id_its_plugin_made_up(few: Few) -> None:
    names: Names = {}
    made = few.CreateVolumeResponse(volume=few.Volume(volume_id="8f14e45f"))
    create, _ = call(few, names, "CreateVolume", few.CreateVolumeRequest(name="vol1"), made)
    assert isinstance(create, Call)
    assert (create.volume, create.args) == ("vol1", {"name": "vol1"})
    asked = few.ControllerPublishVolumeRequest(volume_id="8f14e45f")
    held, publish, _ = call(few, names, "ControllerPublishVolume", asked)
    assert isinstance(held, Held)
    assert isinstance(publish, Call)
    assert held.call.volume == publish.volume == "vol1"
    assert publish.args == {"volume_id": "8f14e45f"}


@pytest.mark.parametrize("names", [{}, {("hostpath", "vol1"): "vol1"}, {("zfs", "vol1"): "other"}])
def test_an_id_that_is_the_name_or_is_not_known_is_told_as_it_is(few: Few, names: Names) -> None:
    asked = few.ControllerPublishVolumeRequest(volume_id="vol1")
    _, publish, _ = call(few, names, "ControllerPublishVolume", asked)
    assert isinstance(publish, Call)
    assert (publish.volume, publish.args) == ("vol1", {})


def test_contexts_and_capabilities_are_whole(few: Few) -> None:
    long = json.dumps({"servers": "x" * 4000})
    stage = few.NodeStageVolumeRequest(
        volume_id="vol1", publish_context=long, volume_context=long, staging_target_path="p" * 4000
    )
    said = few.protocol.asked(path("NodeStageVolume"), stage.SerializeToString())
    assert said["publish_context"] == said["volume_context"] == long
    assert said["staging_target_path"] == "p" * LONGEST + CUT
    can = few.ControllerGetCapabilitiesResponse(capabilities=long)
    said = few.protocol.answered(path("ControllerGetCapabilities"), can.SerializeToString())
    assert said["capabilities"] == long


def test_secrets_stay_where_they_are(few: Few) -> None:
    asked = few.CreateVolumeRequest(name="vol1", secrets="hunter2")
    said = few.protocol.asked(path("CreateVolume"), asked.SerializeToString())
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


def test_a_stream_is_told_message_by_message(few: Few) -> None:
    tap = Calls(Hello("zfs", "client1"), few.protocol, Begun(), itertools.count(1), {})
    about = json.dumps({"stream": 1, "path": path(STREAM)}).encode()
    news = [few.WatchResponse(news=text, env="hunter2").SerializeToString() for text in ("a", "b")]
    told = [
        wire.Record(0, 1, wire.OPENED, 110, 110, b"42"),
        wire.Record(1, 1, wire.ASKED, 120, 120, about + b"\n"),
        wire.Record(2, 1, wire.SENT, 130, 130, b'{"stream":1}\n'),
        wire.Record(3, 1, wire.STREAMED, 140, 140, b'{"stream":1,"held":true}\n' + news[0]),
        wire.Record(4, 1, wire.TOLD, 150, 150, b'{"stream":1}\n'),
        wire.Record(5, 1, wire.STREAMED, 160, 160, b'{"stream":1}\n' + news[1]),
        wire.Record(6, 1, wire.GIVEN_UP, 170, 170, b'{"stream":1,"by":"caller"}\n'),
    ]
    call, first, held, second, gone = [event for record in told for event in tap.take(record)]
    assert isinstance(call, Call)
    assert first == Message(40, call.id, {"news": "a"})
    assert isinstance(held, Held)
    assert held.reply == Reply(40, call.id)
    assert second == Message(60, call.id, {"news": "b"})
    assert gone == Gone(70, call.id, "caller")
