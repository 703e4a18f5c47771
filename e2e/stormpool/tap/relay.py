"""A gRPC connection that can be held back: a sans-I/O relay between a caller and a plugin.

Bytes of either side go in; what is to be sent, and what happened, comes out. Calls of a watched method stop
twice: when their request is whole, and when their answer is, or the first message of one that streams;
whoever drives the relay then says what becomes of them. All else passes as it comes. To hold one call back
and let others pass, the relay is an end of header compression on both sides: what it sends fills no table, so
nothing held is ever missed (RFC 7541, section 2.3.2). Streams towards the plugin are numbered as they are
forwarded (RFC 9113, section 5.1.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

import hpack

from stormpool.tap.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    MESSAGE_HEADER,
    PADDED,
    PREFACE,
    RST_STREAM,
    Direction,
    NotHttp2,
    Side,
    status_of,
    without_padding,
)

GOAWAY, WINDOW_UPDATE = 0x7, 0x8
CANCEL = 0x8  # the error code of a stream that is no longer wanted (RFC 9113, section 7)
NO_TABLE = b"\x20"  # the table is of no size from now on (RFC 7541, section 6.3)
MAX_FRAME = 16384  # bytes every peer takes (RFC 9113, section 4.2)
MOST_KEPT = 1 << 20  # bytes of one side's messages kept to be told: streams go on for ever
EVERY_STREAM = 0x7FFFFFFF  # a GOAWAY that names it gives up no call (RFC 9113, section 6.8)


@dataclass(frozen=True)
class Send:
    """Bytes for one side."""

    to: Side
    data: bytes


@dataclass(frozen=True)
class Asked:
    """A call's request is whole; held when the call is watched, else forwarded already."""

    stream: int
    path: str
    body: bytes
    held: bool


@dataclass(frozen=True)
class Answered:
    """A call's answer is whole; held when the call is watched, else told already."""

    stream: int
    code: int
    message: str
    body: bytes
    held: bool


@dataclass(frozen=True)
class Streamed:
    """A message of an answer that goes on is whole; the first is held when the call is watched."""

    stream: int
    body: bytes
    held: bool


@dataclass(frozen=True)
class GivenUp:
    """One side reset a call."""

    stream: int
    side: Side


Output = Send | Asked | Answered | Streamed | GivenUp


@dataclass
class _Frame:
    """One frame of a stream, its header block decoded."""

    kind: int
    flags: int
    payload: bytes = b""
    fields: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class _Call:
    """One stream of the caller."""

    stream: int
    path: str
    there: int = 0  # its number towards the plugin; 0 until it is forwarded
    held: dict[Side, list[_Frame] | None] = field(default_factory=lambda: dict.fromkeys(Side))
    bodies: dict[Side, bytearray] = field(default_factory=lambda: {side: bytearray() for side in Side})
    status: dict[str, str] = field(default_factory=dict)
    answered: bool = False  # the plugin's answer is whole
    streams: bool = False  # its answer is any number of messages
    stopped: bool = False  # the first of them was held


class Relay:
    """One connection between a caller and a plugin."""

    def __init__(self, watched: Callable[[str], bool], streams: Callable[[str], bool]) -> None:
        self._watched = watched
        self._streams = streams
        self._from = {side: Direction(side) for side in Side}
        self._told = dict.fromkeys(Side, NO_TABLE)  # what the next header block for a side must begin with
        self._calls: dict[int, _Call] = {}
        self._caller_of: dict[int, int] = {}  # plugin's number → caller's; 0 for a copy nobody waits for
        self._next = 1

    def feed(self, side: Side, data: bytes) -> Iterator[Output]:
        """What follows from `side` having sent `data` as well. Raises `NotHttp2` when that is none."""
        try:
            direction = self._from[side]
            before = direction.preface
            frames = list(direction.frames(data))
            if before and not direction.preface:
                yield Send(Side.PLUGIN, PREFACE)
            for kind, flags, number, payload in frames:
                yield from self._frame(side, kind, flags, number, payload)
        except (hpack.HPACKError, IndexError) as error:
            raise NotHttp2(f"from the {side.name.lower()}: {error}") from error

    def forward(self, stream: int) -> Iterator[Output]:
        """Let a held request go on to the plugin."""
        call = self._calls.get(stream)
        if call is not None:
            yield from self._release(call, Side.CALLER)

    def tell(self, stream: int) -> Iterator[Output]:
        """Let an answer go on to the caller: what is held of it, and what is yet to come."""
        call = self._calls.get(stream)
        if call is not None:
            yield from self._release(call, Side.PLUGIN)
            if call.answered:
                self._forget(call)
                if call.stopped:
                    yield Answered(call.stream, *status_of(call.status), b"", held=False)

    def let_go(self) -> Iterator[Output]:
        """Hold none of the calls that were held any more, neither now nor at their answer."""
        for stream in list(self._calls):
            yield from self.forward(stream)
            yield from self.tell(stream)

    def refuse(self, stream: int, code: int, message: str) -> Iterator[Output]:
        """Answer a call in the plugin's place; the plugin, if it has it, hears that it is given up."""
        call = self._calls.get(stream)
        if call is None:
            return
        fields = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", str(code))]
        fields.append(("grpc-message", quote(message, safe=" ")))
        frame = _Frame(HEADERS, END_HEADERS | END_STREAM, fields=fields)
        yield from self._swallow(call)
        yield self._sent(Side.CALLER, stream, frame)
        self._forget(call)

    def reset(self, stream: int) -> Iterator[Output]:
        """End a call without an answer: what the plugin said is lost."""
        call = self._calls.get(stream)
        if call is None:
            return
        yield from self._swallow(call)
        yield Send(Side.CALLER, _packed(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")))
        self._forget(call)

    def copy(self, stream: int) -> Iterator[Output]:
        """Send a held request to the plugin once more than the caller did; nobody hears its answer."""
        call = self._calls.get(stream)
        held = call.held[Side.CALLER] if call else None
        if held is None:
            return
        number = self._number(0)
        for frame in held:
            yield self._sent(Side.PLUGIN, number, frame)

    def _frame(self, side: Side, kind: int, flags: int, number: int, payload: bytes) -> Iterator[Output]:
        if number == 0:
            if kind == GOAWAY and side is Side.PLUGIN:
                payload = self._last_of_the_caller(payload)
            yield Send(_other(side), _packed(kind, flags, 0, payload))
            return
        direction = self._from[side]
        if kind in (HEADERS, CONTINUATION):
            fields = direction.header_block(kind, flags, payload)
            if fields is None:
                return
            frame = _Frame(HEADERS, direction.block_flags & END_STREAM | END_HEADERS, fields=fields)
        elif kind == DATA:
            yield from self._acknowledge_padding(side, flags, payload)
            frame = _Frame(DATA, flags & END_STREAM, without_padding(payload, flags & PADDED))
        else:
            frame = _Frame(kind, flags, payload)
        stream = number if side is Side.CALLER else self._caller_of.get(number, 0)
        call = self._call(side, stream, frame)
        if call is None:
            # The answer to a copy, or the rest of a call that is over: its bytes are acknowledged, and lost.
            if kind == DATA:
                yield from _window(side, len(frame.payload))
            return
        yield from self._stream_frame(side, call, frame)

    def _call(self, side: Side, stream: int, frame: _Frame) -> _Call | None:
        call = self._calls.get(stream)
        if call is None and side is Side.CALLER and frame.kind == HEADERS and stream:
            path = dict(frame.fields).get(":path", "")
            call = self._calls[stream] = _Call(stream, path, streams=self._streams(path))
            if self._watched(path):
                call.held = {each: [] for each in Side}
        return call

    def _stream_frame(self, side: Side, call: _Call, frame: _Frame) -> Iterator[Output]:
        if frame.kind == RST_STREAM:
            yield from self._reset_by(side, call, frame)
            return
        if frame.kind == DATA and len(call.bodies[side]) < MOST_KEPT:
            call.bodies[side] += frame.payload
        elif frame.kind == HEADERS and side is Side.PLUGIN:
            call.status.update((name, value) for name, value in frame.fields if name.startswith("grpc-"))
        held = call.held[side]
        if held is None:
            yield from self._pass_on(side, call, frame)
        else:
            held.append(frame)
        if side is Side.PLUGIN and call.streams:
            yield from self._said(call, is_held=held is not None)
        if frame.flags & END_STREAM and frame.kind in (HEADERS, DATA):
            yield from self._whole(side, call, is_held=held is not None)

    def _whole(self, side: Side, call: _Call, *, is_held: bool) -> Iterator[Output]:
        """A side has said all that it will."""
        body = bytes(call.bodies[side][MESSAGE_HEADER:])
        if side is Side.CALLER:
            yield Asked(call.stream, call.path, body, is_held)
            return
        call.answered = True
        if not is_held:
            self._forget(call)
        if not (is_held and call.stopped):  # else that it ended is told once it is let go
            yield Answered(call.stream, *status_of(call.status), body, is_held)

    def _said(self, call: _Call, *, is_held: bool) -> Iterator[Output]:
        """The messages of a stream that are whole by now."""
        unread = call.bodies[Side.PLUGIN]
        while len(unread) >= MESSAGE_HEADER:
            end = MESSAGE_HEADER + int.from_bytes(unread[1:MESSAGE_HEADER], "big")
            if len(unread) < end:
                return
            yield Streamed(call.stream, bytes(unread[MESSAGE_HEADER:end]), is_held and not call.stopped)
            call.stopped = call.stopped or is_held
            del unread[:end]

    def _reset_by(self, side: Side, call: _Call, frame: _Frame) -> Iterator[Output]:
        if side is Side.CALLER:
            yield from self._swallow(call)
        else:
            yield Send(Side.CALLER, _packed(RST_STREAM, 0, call.stream, frame.payload))
        self._forget(call)
        yield GivenUp(call.stream, side)

    def _release(self, call: _Call, side: Side) -> Iterator[Output]:
        held, call.held[side] = call.held[side], None
        for frame in held or ():
            yield from self._pass_on(side, call, frame)

    def _pass_on(self, side: Side, call: _Call, frame: _Frame) -> Iterator[Output]:
        if side is Side.CALLER:
            if not call.there:
                call.there = self._number(call.stream)
            yield self._sent(Side.PLUGIN, call.there, frame)
        else:
            yield self._sent(Side.CALLER, call.stream, frame)

    def _swallow(self, call: _Call) -> Iterator[Output]:
        """Take a call back from the plugin, and give each side the room its lost bytes took."""
        if call.there:
            self._caller_of[call.there] = 0
            yield Send(Side.PLUGIN, _packed(RST_STREAM, 0, call.there, CANCEL.to_bytes(4, "big")))
        for side, held in call.held.items():
            lost = sum(len(frame.payload) for frame in held or () if frame.kind == DATA)
            yield from _window(side, lost)

    def _acknowledge_padding(self, side: Side, flags: int, payload: bytes) -> Iterator[Output]:
        yield from _window(side, len(payload) - len(without_padding(payload, flags & PADDED)))

    def _last_of_the_caller(self, payload: bytes) -> bytes:
        """A plugin's GOAWAY with the last call it takes by the caller's own number."""
        last = int.from_bytes(payload[:4], "big") & EVERY_STREAM
        if last != EVERY_STREAM:
            taken = [stream for number, stream in self._caller_of.items() if number <= last]
            last = max(taken, default=0)
        return last.to_bytes(4, "big") + payload[4:]

    def _number(self, stream: int) -> int:
        number = self._next
        self._next += 2
        self._caller_of[number] = stream
        return number

    def _forget(self, call: _Call) -> None:
        self._calls.pop(call.stream, None)
        if call.there:
            self._caller_of[call.there] = 0

    def _sent(self, to: Side, number: int, frame: _Frame) -> Send:
        if frame.kind != HEADERS:
            return Send(to, _packed(frame.kind, frame.flags, number, frame.payload))
        block = self._told[to] + b"".join(_encoded(*each) for each in frame.fields)
        self._told[to] = b""
        pieces = [block[at : at + MAX_FRAME] for at in range(0, len(block), MAX_FRAME)]
        data = b""
        for turn, piece in enumerate(pieces):
            last = END_HEADERS if turn == len(pieces) - 1 else 0
            kind = CONTINUATION if turn else HEADERS
            data += _packed(kind, last | (0 if turn else frame.flags & END_STREAM), number, piece)
        return Send(to, data)


@lru_cache(maxsize=4096)
def _encoded(name: str, value: str) -> bytes:
    """A field of a header block that fills no table: the same bytes wherever it stands."""
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    encoder.encode([])  # which tells of the size
    return bytes(encoder.encode([(name, value)], huffman=False))


def _other(side: Side) -> Side:
    return Side.PLUGIN if side is Side.CALLER else Side.CALLER


def _window(side: Side, room: int) -> Iterator[Output]:
    """Let a side send so many bytes more on its connection (RFC 9113, section 6.9)."""
    if room:
        yield Send(side, _packed(WINDOW_UPDATE, 0, 0, room.to_bytes(4, "big")))


def _packed(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
