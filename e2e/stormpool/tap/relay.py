"""A gRPC connection that can be held back: a sans-I/O relay between a caller and a plugin.

Bytes of either side go in; what is to be sent, and what happened, comes out. Calls of a watched method stop
twice: when their request is whole, and when their answer is, or the first message of one that streams;
whoever drives the relay then says what becomes of them. All else passes as it comes. To hold one call back
and let others pass, the relay is an end of header compression on both sides: what it sends fills no table, so
nothing held is ever missed (RFC 7541, section 2.3.2). Streams towards the plugin are numbered as they are
forwarded (RFC 9113, section 5.1.1).

Who sends what is held would run out of room, for its receiver, who has not got it, gives none. So the relay
gives it, as much as is held. What the receiver says later of the same bytes is kept back, and it gets them as
it has room (`stormpool.tap.flow`). Of each sender is counted what room it is owed; below zero is what it was
given beforehand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

import hpack

from stormpool.tap.flow import Frame, Outlet
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
from stormpool.tap.outputs import Answered, Asked, GivenUp, Output, Send, Streamed

SETTINGS, GOAWAY, WINDOW_UPDATE = 0x4, 0x7, 0x8
ACK = 0x1  # of SETTINGS: it sets nothing
CANCEL = 0x8  # the error code of a stream that is no longer wanted (RFC 9113, section 7)
NO_TABLE = b"\x20"  # the table is of no size from now on (RFC 7541, section 6.3)
MAX_FRAME = 16384  # bytes every peer takes (RFC 9113, section 4.2)
MOST_KEPT = 1 << 20  # bytes of one side's messages kept to be told: streams go on for ever
QUARTER = 16384  # bytes of room that are given at once for what is held, not frame by frame
EVERY_STREAM = 0x7FFFFFFF  # a GOAWAY that names it gives up no call (RFC 9113, section 6.8)


@dataclass
class _Call:
    """One stream of the caller."""

    stream: int
    path: str
    there: int = 0  # its number towards the plugin; 0 until it is forwarded
    held: dict[Side, list[Frame] | None] = field(
        default_factory=lambda: {Side.CALLER: None, Side.PLUGIN: None}
    )
    bodies: dict[Side, bytearray] = field(
        default_factory=lambda: {Side.CALLER: bytearray(), Side.PLUGIN: bytearray()}
    )
    status: dict[str, str] = field(default_factory=dict)
    # Room on its stream that a side is to be given.
    owed: dict[Side, int] = field(default_factory=lambda: {Side.CALLER: 0, Side.PLUGIN: 0})
    asked: bool = False  # what it asks is told
    uploads: bool = False  # it asks in any number of messages
    answered: bool = False  # the plugin's answer is whole
    streams: bool = False  # its answer is any number of messages
    stopped: bool = False  # the first of them was held

    def number(self, side: Side) -> int:
        """Its number towards a side."""
        return self.stream if side is Side.CALLER else self.there

    def goes_on(self, side: Side) -> bool:
        """Whether what a side says is any number of messages."""
        return self.uploads if side is Side.CALLER else self.streams

    def reached(self, side: Side) -> bool:
        """Whether so much of it is there that it stops there, however long it goes on."""
        return self.asked if side is Side.CALLER else self.stopped


class Relay:
    """One connection between a caller and a plugin."""

    def __init__(
        self, watched: Callable[[str], bool], streams: Callable[[str], bool], uploads: Callable[[str], bool]
    ) -> None:
        """Three questions about a method: is it held, does it answer, and ask, in any number of messages."""
        self._watched = watched
        self._streams = streams
        self._uploads = uploads
        self._from = {side: Direction(side) for side in Side}
        self._told = dict.fromkeys(Side, NO_TABLE)  # what the next header block for a side must begin with
        self._calls: dict[int, _Call] = {}
        self._caller_of: dict[int, int] = {}  # plugin's number → caller's; 0 for a copy nobody waits for
        self._copies: set[int] = set()  # which of the plugin's numbers are such
        self._next = 1
        self._to = {side: Outlet() for side in Side}
        self._owed = dict.fromkeys(Side, 0)  # room on its connection
        self._set: dict[Side, deque[bytes]] = {side: deque() for side in Side}  # and not acknowledged yet

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
            yield from self._give(Side.PLUGIN, call, 1)  # what the caller has room for meanwhile

    def tell(self, stream: int) -> Iterator[Output]:
        """Let an answer go on to the caller: what is held of it, and what is yet to come."""
        call = self._calls.get(stream)
        if call is not None:
            yield from self._release(call, Side.PLUGIN)
            if call.answered:
                yield from self._forget(call)
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
        frame = Frame(HEADERS, END_HEADERS | END_STREAM, fields=fields)
        yield from self._swallow(call)
        yield self._sent(Side.CALLER, stream, frame)
        yield from self._forget(call)

    def reset(self, stream: int) -> Iterator[Output]:
        """End a call without an answer: what the plugin said is lost."""
        call = self._calls.get(stream)
        if call is None:
            return
        yield from self._swallow(call)
        yield Send(Side.CALLER, _packed(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")))
        yield from self._forget(call)

    def copy(self, stream: int) -> Iterator[Output]:
        """Send a held request to the plugin once more than the caller did; nobody hears its answer."""
        call = self._calls.get(stream)
        held = call.held[Side.CALLER] if call else None
        if held is None:
            return
        number = self._number(0)
        self._copies.add(number)
        self._owed[Side.CALLER] -= _taken(held)
        for frame in held:
            yield from self._emit(Side.PLUGIN, number, frame)
        if not any(frame.ends for frame in held):
            yield from self._emit(Side.PLUGIN, number, Frame(DATA, END_STREAM))

    def _frame(self, side: Side, kind: int, flags: int, number: int, payload: bytes) -> Iterator[Output]:
        if kind == WINDOW_UPDATE:
            yield from self._room(side, number, int.from_bytes(payload, "big") & EVERY_STREAM)
            return
        if number == 0:
            yield from self._of_the_connection(side, kind, flags, payload)
            return
        direction = self._from[side]
        if kind in (HEADERS, CONTINUATION):
            fields = direction.header_block(kind, flags, payload)
            if fields is None:
                return
            frame = Frame(HEADERS, direction.block_flags & END_STREAM | END_HEADERS, fields=fields)
        elif kind == DATA:
            frame = Frame(DATA, flags & END_STREAM, without_padding(payload, flags & PADDED))
            if len(frame.payload) < len(payload):
                yield from self._owe(side, len(payload) - len(frame.payload))
        else:
            frame = Frame(kind, flags, payload)
        stream = number if side is Side.CALLER else self._caller_of.get(number, 0)
        call = self._call(side, stream, frame)
        if call is None:
            yield from self._lost(side, number, frame)
        else:
            yield from self._stream_frame(side, call, frame)

    def _of_the_connection(self, side: Side, kind: int, flags: int, payload: bytes) -> Iterator[Output]:
        if kind == GOAWAY and side is Side.PLUGIN:
            payload = self._last_of_the_caller(payload)
        yield Send(_other(side), _packed(kind, flags, 0, payload))
        if kind == SETTINGS:
            yield from self._settings(side, flags, payload)

    def _settings(self, side: Side, flags: int, payload: bytes) -> Iterator[Output]:
        """Settings hold from when the other side has acknowledged them (RFC 9113, section 6.5.3)."""
        if not flags & ACK:
            self._set[side].append(payload)
            return
        setter = _other(side)
        if self._set[setter]:
            for number, frame in self._to[setter].settings(self._set[setter].popleft()):
                yield self._sent(setter, number, frame)
            for call in list(self._calls.values()):  # which may have less room by now than is owed
                if call.held[side] and not call.reached(side):
                    yield from self._give(side, call, 1)

    def _lost(self, side: Side, number: int, frame: Frame) -> Iterator[Output]:
        """The answer to a copy, or the rest of a call that is over: its bytes are acknowledged, and lost."""
        if frame.takes:
            yield from self._owe(side, frame.takes)
            if side is Side.PLUGIN and number in self._copies and not frame.ends:
                yield _window(side, number, frame.takes)
        if frame.kind == RST_STREAM:
            yield from self._drop(side, number)

    def _call(self, side: Side, stream: int, frame: Frame) -> _Call | None:
        call = self._calls.get(stream)
        if call is None and side is Side.CALLER and frame.kind == HEADERS and stream:
            path = dict(frame.fields).get(":path", "")
            call = _Call(stream, path, streams=self._streams(path), uploads=self._uploads(path))
            self._calls[stream] = call
            self._to[Side.CALLER].open(stream)
            if self._watched(path):
                call.held = {each: [] for each in Side}
        return call

    def _stream_frame(self, side: Side, call: _Call, frame: Frame) -> Iterator[Output]:
        if frame.kind == RST_STREAM:
            yield from self._reset_by(side, call, frame)
            return
        if frame.kind == DATA:
            _keep(side, call, frame.payload)
        elif frame.kind == HEADERS and side is Side.PLUGIN:
            call.status.update((name, value) for name, value in frame.fields if name.startswith("grpc-"))
        held = call.held[side]
        if held is None:
            yield from self._pass_on(side, call, frame)
        else:
            held.append(frame)
        if call.goes_on(side):
            yield from self._said(side, call, is_held=held is not None)
        if held is not None and frame.takes:
            yield from self._lend(side, call, frame)
        if frame.ends:
            yield from self._whole(side, call, is_held=held is not None)

    def _whole(self, side: Side, call: _Call, *, is_held: bool) -> Iterator[Output]:
        """A side has said all that it will."""
        body = bytes(call.bodies[side][MESSAGE_HEADER:])
        if side is Side.CALLER:
            if not call.asked:
                call.asked = True
                yield Asked(call.stream, call.path, body, is_held)
            return
        call.answered = True
        if not is_held:
            yield from self._forget(call)
        if not (is_held and call.stopped):  # else that it ended is told once it is let go
            yield Answered(call.stream, *status_of(call.status), body, is_held)

    def _said(self, side: Side, call: _Call, *, is_held: bool) -> Iterator[Output]:
        """The messages of a stream that are whole by now."""
        unread = call.bodies[side]
        while len(unread) >= MESSAGE_HEADER:
            end = MESSAGE_HEADER + int.from_bytes(unread[1:MESSAGE_HEADER], "big")
            if len(unread) < end:
                return
            body = bytes(unread[MESSAGE_HEADER:end])
            del unread[:end]
            if side is Side.PLUGIN:
                stops = is_held and not call.stopped
                call.stopped = call.stopped or is_held
                yield Streamed(call.stream, body, stops)
            elif not call.asked:
                call.asked = True
                yield Asked(call.stream, call.path, body, is_held)

    def _reset_by(self, side: Side, call: _Call, frame: Frame) -> Iterator[Output]:
        if side is Side.PLUGIN and call.answered:
            return  # it wants no more of the request; its answer is whole, and held
        if side is Side.CALLER:
            yield from self._swallow(call)
        else:
            yield from self._drop(Side.CALLER, call.stream)
            yield Send(Side.CALLER, _packed(RST_STREAM, 0, call.stream, frame.payload))
        yield from self._forget(call)
        yield GivenUp(call.stream, side)

    def _release(self, call: _Call, side: Side) -> Iterator[Output]:
        held, call.held[side] = call.held[side], None
        lent = _taken(held or ())
        self._owed[side] -= lent
        call.owed[side] -= lent
        for frame in held or ():
            yield from self._pass_on(side, call, frame)

    def _pass_on(self, side: Side, call: _Call, frame: Frame) -> Iterator[Output]:
        if side is Side.CALLER:
            if not call.there:
                call.there = self._number(call.stream)
            yield from self._emit(Side.PLUGIN, call.there, frame)
        else:
            yield from self._emit(Side.CALLER, call.stream, frame)

    def _emit(self, to: Side, number: int, frame: Frame) -> Iterator[Output]:
        for each in self._to[to].send(number, frame):
            yield self._sent(to, number, each)

    def _swallow(self, call: _Call) -> Iterator[Output]:
        """Take a call back from the plugin, and give each side the room its lost bytes took."""
        if call.there:
            self._caller_of[call.there] = 0
            yield Send(Side.PLUGIN, _packed(RST_STREAM, 0, call.there, CANCEL.to_bytes(4, "big")))
        yield from self._drop(Side.PLUGIN, call.there)
        yield from self._drop(Side.CALLER, call.stream)

    def _drop(self, to: Side, number: int) -> Iterator[Output]:
        """Lose what waits on a stream towards a side."""
        yield from self._owe(_other(to), self._to[to].close(number))

    def _room(self, side: Side, number: int, room: int) -> Iterator[Output]:
        """A side has so much more room, on a stream or on its connection (0): whoever sends to it is told."""
        call = self._calls.get(number if side is Side.CALLER else self._caller_of.get(number, 0))
        if number == 0:
            yield from self._owe(_other(side), room)
        elif call is not None and self._to[side].is_open(number):
            call.owed[_other(side)] += room
            yield from self._give(_other(side), call, 1)
        for each, frame in self._to[side].more(number, room):
            yield self._sent(side, each, frame)

    def _lend(self, side: Side, call: _Call, frame: Frame) -> Iterator[Output]:
        """Give a side room for what is held of it; of a stream no more than it takes to reach its point."""
        yield from self._owe(side, frame.takes, QUARTER)
        call.owed[side] += frame.takes
        if not (call.reached(side) or frame.ends):
            yield from self._give(side, call, min(QUARTER, self._to[_other(side)].initial // 4))

    def _owe(self, side: Side, room: int, at_least: int = 1) -> Iterator[Output]:
        """A side is to have so much more room on its connection; it is told once that is enough to tell."""
        self._owed[side] += room
        if self._owed[side] >= at_least:
            yield _window(side, 0, self._owed[side])
            self._owed[side] = 0

    def _give(self, side: Side, call: _Call, at_least: int) -> Iterator[Output]:
        """Tell a side of its room on a call's stream, as soon as there is one."""
        room, number = call.owed[side], call.number(side)
        if number and room >= max(at_least, 1):
            call.owed[side] = 0
            yield _window(side, number, room)

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
        self._to[Side.PLUGIN].open(number)
        return number

    def _forget(self, call: _Call) -> Iterator[Output]:
        """A call is over, but for what of its answer waits for room."""
        self._calls.pop(call.stream, None)
        if call.there:
            self._caller_of[call.there] = 0
            yield from self._drop(Side.PLUGIN, call.there)

    def _sent(self, to: Side, number: int, frame: Frame) -> Send:
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


def _keep(side: Side, call: _Call, payload: bytes) -> None:
    """Keep what a side says, to be told; of a request that goes on the first message alone."""
    kept = call.bodies[side]
    if len(kept) < MOST_KEPT or call.goes_on(side):
        kept += payload


def _taken(frames: Iterable[Frame]) -> int:
    return sum(frame.takes for frame in frames)


def _window(side: Side, number: int, room: int) -> Send:
    """Let a side send so many bytes more, on a stream or its connection (RFC 9113, section 6.9)."""
    return Send(side, _packed(WINDOW_UPDATE, 0, number, room.to_bytes(4, "big")))


def _packed(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
