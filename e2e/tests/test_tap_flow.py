"""No side is sent more than it has room for, whatever is held, lost or copied; and nothing gets stuck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import hpack
from hypothesis import given, settings
from hypothesis import strategies as st

from stormpool.tap.flow import INITIAL_WINDOW_SIZE, WINDOW, Frame, Outlet
from stormpool.tap.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    MESSAGE_HEADER,
    PREFACE,
    RST_STREAM,
    Direction,
    Side,
)
from stormpool.tap.outputs import Answered, Asked, Output, Send, Streamed
from stormpool.tap.relay import ACK, SETTINGS, WINDOW_UPDATE, Relay

LARGEST = 16384  # bytes of a frame
MOST = (1 << 31) - 1  # bytes of room that a side may have
UNARY, STREAM, UPLOAD, OTHER = (
    "/lab.Plugin/Unary",
    "/lab.Plugin/Stream",
    "/lab.Plugin/Upload",
    "/lab.Plugin/Other",
)


def packed(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def message(size: int, answer: int = 0) -> bytes:
    """A message of so many bytes at least, which says how long its answer is to be."""
    body = answer.to_bytes(4, "big") + bytes(max(size - 4, 0))
    return b"\0" + len(body).to_bytes(4, "big") + body


@dataclass
class Stream:
    """One stream, as one of its ends sees it."""

    room: int  # for what is sent
    takes: int  # for what comes
    unsent: bytearray = field(default_factory=bytearray)
    ends: bool = False  # nothing is to be sent after that
    trailers: bool = False  # it ends with a header block
    ended: bool = False  # which was sent
    came: bytearray = field(default_factory=bytearray)
    came_end: bool = False
    unread: int = 0  # bytes that came, and for which no room was given again
    lost: bool = False


class End:
    """A peer that keeps to the protocol, and fails when the other does not."""

    def __init__(self, side: Side, initial: int) -> None:
        self.side = side
        self.streams: dict[int, Stream] = {}
        self.room = self.takes = WINDOW
        self.unread = 0
        self.initial = WINDOW  # bytes that may come on a stream at first
        self.wanted = initial  # the same, once that is acknowledged
        self.theirs = WINDOW
        self.reads = Direction(Side.PLUGIN if side is Side.CALLER else Side.CALLER)
        self.encoder = hpack.Encoder()
        self.out = bytearray(PREFACE if side is Side.CALLER else b"")
        payload = INITIAL_WINDOW_SIZE.to_bytes(2, "big") + initial.to_bytes(4, "big")
        self.out += packed(SETTINGS, 0, 0, payload)

    def open(self, number: int, path: str) -> Stream:
        self.streams[number] = Stream(self.theirs, self.initial)
        self.headers(number, [(":method", "POST"), (":path", path)])
        return self.streams[number]

    def headers(self, number: int, fields: list[tuple[str, str]], flags: int = 0) -> None:
        self.out += packed(HEADERS, END_HEADERS | flags, number, self.encoder.encode(fields))

    def reset(self, number: int) -> None:
        self.streams[number].lost = True
        self.out += packed(RST_STREAM, 0, number, (8).to_bytes(4, "big"))

    def send(self) -> None:
        """Send all that there is room for."""
        for number, stream in self.streams.items():
            while not stream.lost and (fits := min(len(stream.unsent), self.room, stream.room, LARGEST)) > 0:
                last = stream.ends and not stream.trailers and fits == len(stream.unsent)
                stream.ended = last
                self.out += packed(DATA, END_STREAM if last else 0, number, bytes(stream.unsent[:fits]))
                del stream.unsent[:fits]
                self.room -= fits
                stream.room -= fits
            if stream.ends and not stream.unsent and not stream.ended and not stream.lost:
                stream.ended = True
                if stream.trailers:
                    self.headers(number, [("grpc-status", "0")], END_STREAM)
                else:
                    self.out += packed(DATA, END_STREAM, number, b"")

    def take(self, data: bytes) -> None:
        for kind, flags, number, payload in self.reads.frames(data):
            self._frame(kind, flags, number, payload)

    def _frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        stream = self.streams.get(number)
        if kind == HEADERS:
            fields = self.reads.header_block(kind, flags, payload)
            assert fields is not None
            if stream is None:
                assert self.side is Side.PLUGIN
                stream = self.streams[number] = Stream(self.theirs, self.initial)
            stream.came_end = stream.came_end or bool(flags & END_STREAM)
        elif kind == DATA:
            self.takes -= len(payload)
            self.unread += len(payload)
            assert self.takes >= 0, f"{len(payload)} bytes came, of which {-self.takes} have no room"
            assert stream is not None
            if not stream.lost:
                assert not stream.came_end, "after the end"
                stream.takes -= len(payload)
                stream.unread += len(payload)
                assert stream.takes >= 0, f"stream {number} has no room for {-stream.takes} bytes"
                stream.came += payload
                stream.came_end = bool(flags & END_STREAM)
        elif kind == WINDOW_UPDATE:
            self._more(stream, number, int.from_bytes(payload, "big"))
        elif kind == RST_STREAM:
            assert stream is not None
            stream.lost = True
        elif kind == SETTINGS and flags & ACK:
            for each in self.streams.values():
                each.takes += self.wanted - self.initial
            self.initial = self.wanted
        elif kind == SETTINGS:
            self._set(int.from_bytes(payload[2:6], "big"))

    def _more(self, stream: Stream | None, number: int, room: int) -> None:
        assert 0 < room <= MOST
        if number == 0:
            self.room += room
            assert self.room <= MOST
        else:
            assert stream is not None, f"room on stream {number}, which is idle"
            stream.room += room
            assert stream.room <= MOST

    def _set(self, theirs: int) -> None:
        for stream in self.streams.values():
            stream.room += theirs - self.theirs
        self.theirs = theirs
        self.out += packed(SETTINGS, ACK, 0, b"")

    def acknowledge(self, at_least: int) -> None:
        """Give room again for what came, once that is so much."""
        if self.unread >= at_least:
            self.out += packed(WINDOW_UPDATE, 0, 0, self.unread.to_bytes(4, "big"))
            self.takes += self.unread
            self.unread = 0
        for number, stream in self.streams.items():
            if (
                stream.unread >= min(at_least, max(self.initial // 4, 1))
                and not stream.came_end
                and not stream.lost
            ):
                self.out += packed(WINDOW_UPDATE, 0, number, stream.unread.to_bytes(4, "big"))
                stream.takes += stream.unread
                stream.unread = 0


class Talk:
    """Two ends, and a relay between them that is told what becomes of what it holds."""

    def __init__(self, initial: int) -> None:
        self.ends = {side: End(side, initial) for side in Side}
        self.relay = Relay(
            lambda path: path != OTHER, lambda path: path == STREAM, lambda path: path == UPLOAD
        )
        self.held: list[Asked | Answered | Streamed] = []
        self.given_up: set[int] = set()

    def carry(self, side: Side, most: int) -> None:
        """Have the relay read some of what a side has sent."""
        data = bytes(self.ends[side].out[:most])
        del self.ends[side].out[:most]
        self.do(self.relay.feed(side, data))

    def do(self, outputs: Iterator[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.ends[output.to].take(output.data)
            elif isinstance(output, Asked | Answered | Streamed) and output.held:
                self.held.append(output)

    def decide(self, number: int, what: str) -> None:
        """Say what becomes of what is held."""
        if not self.held:
            return
        point = self.held.pop(number % len(self.held))
        stream = point.stream
        if what in ("refuse", "reset"):
            self.given_up.add(stream)
            self.do(self.relay.refuse(stream, 14, "no") if what == "refuse" else self.relay.reset(stream))
            return
        if what == "cancel":
            self.given_up.add(stream)
            if not self.ends[Side.CALLER].streams[stream].lost:
                self.ends[Side.CALLER].reset(stream)
        if isinstance(point, Asked):
            if what == "copy":
                self.do(self.relay.copy(stream))
            self.do(self.relay.forward(stream))
        else:
            self.do(self.relay.tell(stream))

    def answer(self) -> None:
        """Have the plugin answer what it was asked."""
        plugin = self.ends[Side.PLUGIN]
        for number, stream in plugin.streams.items():
            if stream.came_end and not stream.ends and not stream.lost:
                size = int.from_bytes(stream.came[MESSAGE_HEADER : MESSAGE_HEADER + 4], "big")
                plugin.headers(number, [(":status", "200")])
                stream.unsent += message(size)
                stream.ends = stream.trailers = True

    def run(self, step: int) -> None:
        """Carry all there is, until nothing is left to do."""
        caller, plugin = (self.ends[side] for side in Side)
        before = None
        while before != (before := self._seen()) or caller.out or plugin.out:
            for side, end in self.ends.items():
                self.answer()
                end.send()
                while end.out:
                    self.carry(side, step)
                end.acknowledge(1)
            self.decide(0, "go on")
        assert not self.held
        assert not caller.out
        assert not plugin.out

    def _seen(self) -> str:
        ends = [
            (each.room, each.takes, len(each.unsent), len(each.came), each.ended, each.came_end)
            for end in self.ends.values()
            for each in end.streams.values()
        ]
        return repr((ends, [point.stream for point in self.held], [end.room for end in self.ends.values()]))


SIZES = st.one_of(st.integers(4, 300), st.integers(4, 150_000))
CALLS = st.lists(
    st.tuples(st.sampled_from([UNARY, STREAM, UPLOAD, OTHER]), SIZES, SIZES), min_size=1, max_size=5
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.just(0)),
        st.tuples(st.sampled_from(["caller", "plugin"]), st.integers(1, 80_000)),
        st.tuples(st.sampled_from(["acknowledge"]), st.integers(1, 40_000)),
        st.tuples(st.sampled_from(["go on", "copy", "refuse", "reset", "cancel"]), st.integers(0, 5)),
    ),
    max_size=60,
)


@settings(max_examples=100)
@given(CALLS, STEPS, st.sampled_from([3000, 20_000, WINDOW, 1 << 20]), st.integers(1000, 70_000))
def test_room_is_kept_to_and_nothing_is_stuck(
    calls: list[tuple[str, int, int]], steps: list[tuple[str, int]], initial: int, pace: int
) -> None:
    talk = Talk(initial)
    caller, plugin = (talk.ends[side] for side in Side)
    asked: dict[int, tuple[str, int, int]] = {}
    waiting = iter(calls)

    def begin() -> None:
        call = next(waiting, None)
        if call is None:
            return
        number = 2 * len(asked) + 1
        asked[number] = call
        stream = caller.open(number, call[0])
        stream.unsent += message(call[1], call[2])
        stream.ends = True

    for what, number in steps:
        match what:
            case "open":
                begin()
            case "caller" | "plugin":
                side = Side[what.upper()]
                talk.answer()
                talk.ends[side].send()
                talk.carry(side, number)
            case "acknowledge":
                for end in talk.ends.values():
                    end.acknowledge(number)
            case _:
                talk.decide(number, what)
    while len(asked) < len(calls):
        begin()
    talk.run(pace)
    for number, (_, _, size) in asked.items():
        stream = caller.streams[number]
        if number not in talk.given_up:
            assert stream.came_end
            assert len(stream.came) == MESSAGE_HEADER + max(size, 4)
    for one, other in ((caller, plugin), (plugin, caller)):
        assert WINDOW - LARGEST < one.room <= other.takes == WINDOW


@given(st.lists(st.integers(0, 40_000), max_size=12), st.integers(0, 70_000), st.integers(100, 30_000))
def test_what_waits_goes_out_whole_and_in_order(sizes: list[int], initial: int, room: int) -> None:
    outlet, came = Outlet(), b""
    for _ in outlet.settings(INITIAL_WINDOW_SIZE.to_bytes(2, "big") + initial.to_bytes(4, "big")):
        raise AssertionError("nothing waits")
    outlet.open(1)
    body = [bytes([turn]) * size for turn, size in enumerate(sizes)]
    frames = [Frame(DATA, 0, each) for each in body] + [Frame(HEADERS, END_STREAM | END_HEADERS)]
    sent = [each for frame in frames for each in outlet.send(1, frame)]
    while outlet.is_open(1):
        sent += [frame for number in (0, 1) for _, frame in outlet.more(number, room)]
    came = b"".join(frame.payload for frame in sent)
    assert came == b"".join(body)
    assert [frame.ends for frame in sent] == [False] * (len(sent) - 1) + [True]
