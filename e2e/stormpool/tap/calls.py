"""From what passed on a plugin's socket to calls and replies: the last pure step before the history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol as Shape

import msgspec

from stormpool import events
from stormpool.events import Call, Event, Gone, Reply
from stormpool.tap import frames, wire
from stormpool.tap.frames import Broken, Closed, HalfClosed, Message, Opened, Reset, Side
from stormpool.tap.messages import Protocol

# gRPC's status codes, by number (grpc.io, "Status codes").
CODES = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]

NEVER_SENT = NEVER_TOLD = 0  # what a history holds for a time that never came
SIDES = {wire.CALLER: Side.CALLER, wire.PLUGIN: Side.PLUGIN}


class Hello(msgspec.Struct, frozen=True):
    """Which tap speaks: the first line it sends."""

    plugin: str
    node: str
    alloc: str = ""

    @property
    def name(self) -> str:
        """What its calls' ids begin with; a tap that is started anew in its allocation has the same."""
        return f"{self.node}/{self.alloc[:8] or self.plugin}"


class Held(msgspec.Struct, frozen=True):
    """A call that stopped in a tap, and waits to be told what becomes of it."""

    connection: int
    stream: int
    call: Call
    reply: Reply | None = None  # None: its request is held; else the plugin's answer is


# Plugin, and the id that it made up for a volume → the volume's name, as whoever had it made calls it.
Names = dict[tuple[str, str], str]


class _Open(msgspec.Struct):
    """A call that is going on."""

    id: str
    path: str
    read_at: int
    told: bool = False
    request: bytes = b""
    answer: bytes = b""
    call: Call | None = None  # as the plugin is asked, once that was read out of the request
    reply: Reply | None = None  # the plugin's, not yet told

    @property
    def method(self) -> str:
        """Its method, without the service."""
        return self.path.rpartition("/")[2]


class _Step(msgspec.Struct):
    """What a tap says of a step of a call, beside the message."""

    stream: int
    path: str = ""
    held: bool = False
    code: int = 0
    message: str = ""
    by: str = "plugin"


class _Connection(msgspec.Struct):
    peer: int
    parser: frames.Connection
    calls: dict[int, _Open] = {}


class Origin(Shape):
    """When a history began."""

    zero: int  # nanoseconds on the monotonic clock


class Numbers:
    """Counts up from 1; can be copied as it is, which itertools.count cannot from Python 3.14 on."""

    def __init__(self) -> None:
        self._last = 0

    def __iter__(self) -> Numbers:
        return self

    def __next__(self) -> int:
        self._last += 1
        return self._last


class Calls:
    """What one tap tells, as events. Times in come as they are; when the history began is taken from them.

    `numbers` goes on where that of an earlier tap of the same name ended, or calls of both would be one.
    `names`: shared by all taps, for a volume is made at one and used at others.
    """

    def __init__(
        self, hello: Hello, protocol: Protocol, origin: Origin, numbers: Iterator[int], names: Names
    ) -> None:
        self._hello = hello
        self._protocol = protocol
        self._origin = origin
        self._connections: dict[int, _Connection] = {}
        self._numbers = numbers
        self._names = names

    def take(self, record: wire.Record) -> Iterator[Event | Held]:
        """The events that one record completes, and the call that it tells is held."""
        if record.kind == wire.OPENED:
            self._connections[record.connection] = _Connection(int(record.body), frames.Connection())
            return
        connection = self._connections.get(record.connection)
        if connection is None:
            return
        if record.kind == wire.ENDED:
            yield from self._end(record.connection, record.read_at, record.body.decode())
            return
        if record.kind in SIDES:
            for event in connection.parser.feed(SIDES[record.kind], record.body):
                yield from self._event(event, connection, record)
        else:
            yield from self._step(connection, record)

    def lost(self, at: int) -> Iterator[Event]:
        """The tap itself has gone, and every connection with it."""
        for number in list(self._connections):
            yield from self._end(number, at, "tap")

    def _end(self, number: int, at: int, who: str) -> Iterator[Event]:
        """A connection has ended, and what was open on it."""
        connection = self._connections.pop(number)
        for call in connection.calls.values():
            yield from self._tell(call, connection, NEVER_SENT)
            yield call.reply or Gone(t=at - self._origin.zero, id=call.id, by=who)

    def _event(self, event: frames.Event, connection: _Connection, record: wire.Record) -> Iterator[Event]:
        calls, at, sent = (
            connection.calls,
            record.read_at - self._origin.zero,
            record.written_at - self._origin.zero,
        )
        match event:
            case Opened(stream, path, _):
                calls[stream] = self._opened(path, record)
            case Message(stream, side, body) if stream in calls:
                if side is Side.CALLER:
                    calls[stream].request = body
                elif self._streams(calls[stream]):
                    yield from self._tell(calls[stream], connection, sent)
                    yield self._message(calls[stream], at, body)
                else:
                    calls[stream].answer = body
            case HalfClosed(stream) if stream in calls:
                yield from self._tell(calls[stream], connection, sent)
            case Closed(stream, code, message) if stream in calls:
                call = calls.pop(stream)
                yield from self._tell(call, connection, sent)
                yield self._reply(call, code, message, at, told=sent)
            case Reset(stream, side, _) if stream in calls:
                call = calls.pop(stream)
                yield from self._tell(call, connection, sent)
                yield Gone(t=record.read_at - self._origin.zero, id=call.id, by=side.name.lower())
            case Broken():
                for call in calls.values():
                    yield Gone(t=record.read_at - self._origin.zero, id=call.id, by="tap")
                calls.clear()
            case _:
                return

    def _step(self, connection: _Connection, record: wire.Record) -> Iterator[Event | Held]:
        """A step of a call on a connection whose calls can be held."""
        line, _, body = record.body.partition(b"\n")
        step = msgspec.json.decode(line, type=_Step)
        calls, stream = connection.calls, step.stream
        at, sent = record.read_at - self._origin.zero, record.written_at - self._origin.zero
        if record.kind == wire.ASKED:
            calls[stream] = self._opened(step.path, record)
            calls[stream].request = body
            if step.held:
                yield Held(record.connection, stream, self._call(calls[stream], connection))
            return
        call = calls.get(stream)
        if call is None:
            return
        match record.kind:
            case wire.SENT:
                yield from self._tell(call, connection, sent)
            case wire.STREAMED:
                yield from self._tell(call, connection, NEVER_SENT)
                yield self._message(call, at, body)
                if step.held:
                    said = Reply(at, call.id)
                    yield Held(record.connection, stream, self._call(call, connection), said)
            case wire.ANSWERED:
                yield from self._tell(call, connection, NEVER_SENT)
                call.answer = body
                call.reply = _in_place_of(
                    call.reply, self._reply(call, step.code, step.message, at, by=step.by)
                )
                if step.held:
                    yield Held(record.connection, stream, self._call(call, connection), call.reply)
            case wire.TOLD if call.reply is not None:
                yield msgspec.structs.replace(call.reply, told=at)
                del calls[stream]
            case wire.GIVEN_UP:
                yield from self._tell(call, connection, NEVER_SENT)
                yield call.reply or Gone(t=at, id=call.id, by=step.by)
                del calls[stream]

    def _opened(self, path: str, record: wire.Record) -> _Open:
        return _Open(f"{self._hello.name}/{next(self._numbers)}", path, record.read_at)

    def _streams(self, call: _Open) -> bool:
        method = self._protocol.get(call.path)
        return method is not None and method.streams

    def _message(self, call: _Open, at: int, body: bytes) -> events.Message:
        return events.Message(at, call.id, self._protocol.answered(call.path, body))

    def _tell(self, call: _Open, connection: _Connection, sent: int) -> Iterator[Call]:
        """Tell of a call, once: when the plugin has it, or never will."""
        if not call.told:
            call.told = True
            yield msgspec.structs.replace(self._call(call, connection), sent=sent)

    def _call(self, call: _Open, connection: _Connection) -> Call:
        """What is asked of the plugin; its request must be whole, or as whole as it will ever be."""
        if call.call is None:
            said = self._protocol.asked(call.path, call.request)
            id = said.pop("volume_id", "") or said.pop("source_volume_id", "")
            volume = self._names.get((self._hello.plugin, id), id) or said.get("name", "")
            if id and volume != id:
                said["volume_id"] = id
            call.call = Call(
                t=call.read_at - self._origin.zero,
                id=call.id,
                plugin=self._hello.plugin,
                node=self._hello.node,
                method=call.method,
                volume=volume,
                target=said.pop("node_id", ""),
                args=said,
                alloc=self._hello.alloc,
                peer=connection.peer,
                sent=NEVER_SENT,
                task=said.pop("task_id", "") or _task_in(said),
            )
        return call.call

    def _reply(
        self, call: _Open, code: int, message: str, t: int, *, told: int = NEVER_TOLD, by: str = "plugin"
    ) -> Reply:
        streams = self._streams(call)  # what it said is told of already
        result = self._protocol.answered(call.path, call.answer) if code == 0 and not streams else {}
        if call.method == "CreateVolume" and "volume" in result:
            self._name(call, json.loads(result["volume"]))
        name = CODES[code] if code < len(CODES) else str(code)
        return Reply(t=t, id=call.id, code=name, message=message, result=result, told=told, by=by)

    def _name(self, call: _Open, made: dict[str, str]) -> None:
        """A volume was made: from now on calls that have the plugin's id of it are told with its name."""
        id = made.get("volume_id", "")
        if id and call.call is not None and call.call.volume:
            self._names[self._hello.plugin, id] = call.call.volume


def _task_in(said: dict[str, str]) -> str:
    """The id of the task that a request describes, or whose handle it has (driver.proto)."""
    task = json.loads(said.get("task") or "{}") or json.loads(said.get("handle") or "{}").get("config", {})
    return str(task.get("id", ""))


def _in_place_of(own: Reply | None, reply: Reply) -> Reply:
    """An answer, which keeps what the plugin itself had said where a fault answers after it."""
    return reply if own is None else msgspec.structs.replace(reply, said=own.code, said_at=own.t)
