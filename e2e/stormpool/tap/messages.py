"""What a plugin's messages say, as short texts for a history. Secrets never leave here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FileDescriptor, MethodDescriptor
from google.protobuf.message import DecodeError, Message

LONGEST = 400  # characters kept of a field; lists of volumes can be long
# What checkers read out of and compare: never cut. A context is 4 KiB at most (csi.proto).
WHOLE = frozenset(
    {
        "capabilities",
        "publish_context",
        "volume_context",
        "volume",
        "device_ids",
        "container_res",
        "task",
        "handle",
    }
)

CUT = "…"  # ends what was cut

SECRET = "secret"  # every field of CSI that carries secrets has it in its name (csi.proto, `csi_secret`)
# What a task or a plugin is given to itself: an agent puts tokens there (driver.proto, `TaskConfig`).
ITS_OWN = frozenset({"env", "envs", "device_env", "msgpack_driver_config", "msgpack_config", "stdin"})
UNPARSED = "unparsed"


@dataclass(frozen=True)
class Method:
    """One method of a service: what it is asked with, and what it answers."""

    name: str  # without its service
    request: type[Message]
    response: type[Message]
    streams: bool  # it answers with any number of messages, be it for ever
    uploads: bool  # it asks with any number of messages

    def asked(self, body: bytes) -> dict[str, str]:
        """The fields of a request that are set, by name."""
        return _described(self.request, body)

    def answered(self, body: bytes) -> dict[str, str]:
        """The fields of an answer that are set, by name."""
        return _described(self.response, body)


class Protocol(Mapping[str, Method]):
    """Every method of some services, by the path that gRPC calls it by: `/csi.v1.Node/NodeGetInfo`."""

    def __init__(self, files: Iterable[FileDescriptor]) -> None:
        self._methods = {
            f"/{service.full_name}/{each.name}": _method(each)
            for file in files
            for service in file.services_by_name.values()
            for each in service.methods
        }

    def __getitem__(self, path: str) -> Method:
        return self._methods[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._methods)

    def __len__(self) -> int:
        return len(self._methods)

    @property
    def streams(self) -> list[str]:
        """The names of the methods that answer with any number of messages."""
        return sorted({each.name for each in self.values() if each.streams})

    @property
    def uploads(self) -> list[str]:
        """The names of the methods that ask with any number of messages."""
        return sorted({each.name for each in self.values() if each.uploads})

    def asked(self, path: str, body: bytes) -> dict[str, str]:
        """What a call's request says; of a method that is not known, that it was not read."""
        method = self.get(path)
        return _unknown(path) if method is None else method.asked(body)

    def answered(self, path: str, body: bytes) -> dict[str, str]:
        """What an answer says; of a method that is not known, that it was not read."""
        method = self.get(path)
        return _unknown(path) if method is None else method.answered(body)


def _method(each: MethodDescriptor) -> Method:
    request, response = map(message_factory.GetMessageClass, (each.input_type, each.output_type))
    return Method(each.name, request, response, each.server_streaming, each.client_streaming)


def _unknown(path: str) -> dict[str, str]:
    return {UNPARSED: f"{path} is no method of this protocol"}


def _described(kind: type[Message], body: bytes) -> dict[str, str]:
    """The fields of a message that are set; what cannot be read is told as such, for a tap is no judge.

    A message may parse and yet not be shown: its time may be in milliseconds, its nanoseconds negative.
    """
    message = kind()
    try:
        message.ParseFromString(body)
        shown = json_format.MessageToDict(message, preserving_proto_field_name=True)
    except (DecodeError, json_format.Error) as error:
        return {UNPARSED: str(error)}
    return {name: _text(name, value) for name, value in shown.items() if not _hidden(name)}


def _hidden(name: str) -> bool:
    return SECRET in name or name in ITS_OWN


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_secrets(each) for name, each in value.items() if not _hidden(name)}
    return [_without_secrets(each) for each in value] if isinstance(value, list) else value


def _text(name: str, value: Any) -> str:
    shown = _without_secrets(value)
    text = shown if isinstance(shown, str) else json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return text if name in WHOLE or len(text) <= LONGEST else text[:LONGEST] + CUT
