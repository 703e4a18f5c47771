"""gRPC as it passes on a socket: a sans-I/O parser from bytes to what happened on each stream.

Bytes of both directions go in, with the times they were seen; events come out. It never asks for more, never
blocks and knows no socket. HTTP/2 is RFC 9113, header compression RFC 7541, the message framing gRPC's own
("PROTOCOL-HTTP2"). What a tap must survive, it survives: a peer that breaks the protocol ends the parsing of
that connection with an event that says so, never the forwarding of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from urllib.parse import unquote

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEADER = 9  # bytes (RFC 9113, section 4.1)
MESSAGE_HEADER = 5  # bytes: a flag for compression, a length

DATA, HEADERS, RST_STREAM, CONTINUATION = 0x0, 0x1, 0x3, 0x9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x1, 0x4, 0x8, 0x20


class Side(Enum):
    """Who sent something."""

    CALLER = 0
    PLUGIN = 1


@dataclass(frozen=True)
class Opened:
    """A call began: its headers were seen."""

    stream: int
    path: str
    metadata: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """One message of a call, whole."""

    stream: int
    side: Side
    body: bytes


@dataclass(frozen=True)
class HalfClosed:
    """The caller has sent all it will: a unary call is now with the plugin."""

    stream: int


@dataclass(frozen=True)
class Closed:
    """The plugin answered with a status, and the call is over."""

    stream: int
    code: int
    message: str


@dataclass(frozen=True)
class Reset:
    """One side gave the call up (RST_STREAM)."""

    stream: int
    side: Side
    error: int


@dataclass(frozen=True)
class Broken:
    """What was seen is not HTTP/2: nothing more can be told of this connection."""

    why: str


Event = Opened | Message | HalfClosed | Closed | Reset | Broken


class State(Enum):
    """Where a stream is (RFC 9113, section 5.1, as far as a caller can drive it)."""

    IDLE = auto()
    OPEN = auto()
    HALF_CLOSED = auto()
    CLOSED = auto()


# What may come from which side in which state, and where it leads. All else is ignored: a tap is no judge.
TRANSITIONS: dict[tuple[State, Side, str], State] = {
    (State.IDLE, Side.CALLER, "headers"): State.OPEN,
    (State.OPEN, Side.CALLER, "end"): State.HALF_CLOSED,
    (State.OPEN, Side.PLUGIN, "end"): State.CLOSED,
    (State.HALF_CLOSED, Side.PLUGIN, "end"): State.CLOSED,
    (State.OPEN, Side.CALLER, "reset"): State.CLOSED,
    (State.OPEN, Side.PLUGIN, "reset"): State.CLOSED,
    (State.HALF_CLOSED, Side.CALLER, "reset"): State.CLOSED,
    (State.HALF_CLOSED, Side.PLUGIN, "reset"): State.CLOSED,
}


@dataclass
class _Stream:
    state: State = State.IDLE
    unread: dict[Side, bytearray] = field(default_factory=lambda: {side: bytearray() for side in Side})
    status: dict[str, str] = field(default_factory=dict)

    def follow(self, side: Side, what: str) -> bool:
        """Take a transition; whether there was one."""
        after = TRANSITIONS.get((self.state, side, what))
        if after is not None:
            self.state = after
        return after is not None


class NotHttp2(Exception):
    """The bytes seen break the protocol."""


class Direction:
    """What one side sends, cut into frames, with its header blocks decoded."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.unread = bytearray()
        self.preface = len(PREFACE) if side is Side.CALLER else 0
        self.headers = hpack.Decoder(max_header_list_size=1 << 20)
        self.headers.max_allowed_table_size = 1 << 20  # the peers agree on it themselves
        self.block = bytearray()  # of a header block that goes on in CONTINUATION frames
        self.block_flags = 0

    def frames(self, data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
        """Cut what has come into frames: type, flags, stream, payload."""
        self.unread += data
        if self.preface:
            seen = min(self.preface, len(self.unread))
            start = len(PREFACE) - self.preface
            if self.unread[:seen] != PREFACE[start : start + seen]:
                raise NotHttp2("no HTTP/2 connection preface")
            del self.unread[:seen]
            self.preface -= seen
        while len(self.unread) >= FRAME_HEADER:
            length = int.from_bytes(self.unread[:3], "big")
            if len(self.unread) < FRAME_HEADER + length:
                return
            kind, flags = self.unread[3], self.unread[4]
            stream = int.from_bytes(self.unread[5:9], "big") & 0x7FFFFFFF
            payload = bytes(self.unread[FRAME_HEADER : FRAME_HEADER + length])
            del self.unread[: FRAME_HEADER + length]
            yield kind, flags, stream, payload

    def header_block(self, kind: int, flags: int, payload: bytes) -> list[tuple[str, str]] | None:
        """The fields of a header block; None while it goes on in CONTINUATION frames."""
        if kind == HEADERS:
            self.block = bytearray(without_padding(payload, flags))
            self.block_flags = flags
        else:
            self.block += payload
        if not flags & END_HEADERS:
            return None
        return [(str(name), str(value)) for name, value in self.headers.decode(bytes(self.block))]


class Connection:
    """One connection between a caller and a plugin."""

    def __init__(self) -> None:
        self._directions = {side: Direction(side) for side in Side}
        self._streams: dict[int, _Stream] = {}
        self._broken = False

    def feed(self, side: Side, data: bytes) -> list[Event]:
        """What happened, now that `side` has sent `data` as well."""
        if self._broken:
            return []
        events: list[Event] = []
        try:
            for frame in self._directions[side].frames(data):
                events += self._frame(self._directions[side], *frame)
        except (NotHttp2, hpack.HPACKError, IndexError) as error:
            self._broken = True
            events.append(Broken(f"from the {side.name.lower()}: {error or type(error).__name__}"))
        return events

    def _frame(self, direction: Direction, kind: int, flags: int, number: int, payload: bytes) -> list[Event]:
        if kind in (HEADERS, CONTINUATION):
            fields = direction.header_block(kind, flags, payload)
            return [] if fields is None else self._headers(direction, number, fields)
        if kind == DATA:
            return self._data(direction.side, number, flags, without_padding(payload, flags & ~PRIORITY))
        if kind == RST_STREAM:
            return self._reset(direction.side, number, int.from_bytes(payload, "big"))
        return []

    def _headers(self, direction: Direction, number: int, fields: list[tuple[str, str]]) -> list[Event]:
        stream = self._streams.setdefault(number, _Stream())
        events: list[Event] = []
        if direction.side is Side.CALLER:
            if stream.follow(Side.CALLER, "headers"):
                events.append(Opened(number, dict(fields).get(":path", ""), tuple(fields)))
        else:
            stream.status.update((name, value) for name, value in fields if name.startswith(("grpc-", ":")))
        if direction.block_flags & END_STREAM:
            events += self._end(direction.side, number, stream)
        return events

    def _data(self, side: Side, number: int, flags: int, payload: bytes) -> list[Event]:
        stream = self._streams.get(number)
        if stream is None:
            return []
        unread = stream.unread[side]
        unread += payload
        events: list[Event] = []
        while len(unread) >= MESSAGE_HEADER:
            end = MESSAGE_HEADER + int.from_bytes(unread[1:MESSAGE_HEADER], "big")
            if len(unread) < end:
                break
            events.append(Message(number, side, bytes(unread[MESSAGE_HEADER:end])))
            del unread[:end]
        if flags & END_STREAM:
            events += self._end(side, number, stream)
        return events

    def _end(self, side: Side, number: int, stream: _Stream) -> list[Event]:
        if not stream.follow(side, "end"):
            return []
        if stream.state is State.HALF_CLOSED:
            return [HalfClosed(number)]
        del self._streams[number]
        return [Closed(number, *status_of(stream.status))]

    def _reset(self, side: Side, number: int, error: int) -> list[Event]:
        stream = self._streams.get(number)
        if stream is None or not stream.follow(side, "reset"):
            return []
        del self._streams[number]
        return [Reset(number, side, error)]


def without_padding(payload: bytes, flags: int) -> bytes:
    """What a padded frame carries (RFC 9113, sections 6.1 and 6.2)."""
    start, end = 0, len(payload)
    if flags & PADDED:
        start, end = 1, end - payload[0]
    if flags & PRIORITY:
        start += 5
    return payload[start:end]


UNKNOWN = 2  # gRPC's code for an answer that names none
KNOWN = {str(code) for code in range(17)}  # as they are sent


def status_of(fields: dict[str, str]) -> tuple[int, str]:
    """The gRPC status and message of an answer; UNKNOWN where it is none, as gRPC's clients have it."""
    given = fields.get("grpc-status", "")
    return int(given) if given in KNOWN else UNKNOWN, unquote(fields.get("grpc-message", ""))
