"""The tap's parser: whole calls from bytes cut anywhere, and no harm from what is no HTTP/2."""

from collections.abc import Iterable

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool.tap.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PREFACE,
    PRIORITY,
    RST_STREAM,
    TRANSITIONS,
    Broken,
    Closed,
    Connection,
    Event,
    HalfClosed,
    Message,
    Opened,
    Reset,
    Side,
    State,
)

PUBLISH = "/csi.v1.Controller/ControllerPublishVolume"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def message(body: bytes) -> bytes:
    return b"\0" + len(body).to_bytes(4, "big") + body


class Conversation:
    """Bytes of both sides, as gRPC's own libraries would send them."""

    def __init__(self) -> None:
        self.sent: list[tuple[Side, bytes]] = [(Side.CALLER, PREFACE)]
        self._encoders = {side: hpack.Encoder() for side in Side}

    def call(self, stream: int, body: bytes, path: str = PUBLISH) -> None:
        block = self._encoders[Side.CALLER].encode([(":method", "POST"), (":path", path)])
        self._send(Side.CALLER, frame(HEADERS, END_HEADERS, stream, block))
        self._send(Side.CALLER, frame(DATA, END_STREAM, stream, message(body)))

    def answer(self, stream: int, body: bytes, status: int = 0, text: str = "") -> None:
        block = self._encoders[Side.PLUGIN].encode([(":status", "200")])
        self._send(Side.PLUGIN, frame(HEADERS, END_HEADERS, stream, block))
        if body:
            self._send(Side.PLUGIN, frame(DATA, 0, stream, message(body)))
        trailers = self._encoders[Side.PLUGIN].encode([("grpc-status", str(status)), ("grpc-message", text)])
        self._send(Side.PLUGIN, frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers))

    def _send(self, side: Side, data: bytes) -> None:
        self.sent.append((side, data))


def feed(chunks: Iterable[tuple[Side, bytes]]) -> list[Event]:
    connection = Connection()
    return [event for side, data in chunks for event in connection.feed(side, data)]


def plain(events: list[Event]) -> list[Event]:
    return [Opened(event.stream, event.path, ()) if isinstance(event, Opened) else event for event in events]


def test_a_unary_call() -> None:
    talk = Conversation()
    talk.call(1, b"request")
    talk.answer(1, b"reply")
    assert plain(feed(talk.sent)) == [
        Opened(1, PUBLISH, ()),
        Message(1, Side.CALLER, b"request"),
        HalfClosed(1),
        Message(1, Side.PLUGIN, b"reply"),
        Closed(1, 0, ""),
    ]


def test_an_error_is_told_with_its_message() -> None:
    talk = Conversation()
    talk.call(1, b"")
    talk.answer(1, b"", status=9, text="volume%20is%20attached")
    assert feed(talk.sent)[-1] == Closed(1, 9, "volume is attached")


def test_calls_of_one_connection_share_their_header_tables() -> None:
    talk = Conversation()
    for stream in (1, 3, 5):
        talk.call(stream, b"x")
        talk.answer(stream, b"y")
    opened = [event.path for event in feed(talk.sent) if isinstance(event, Opened)]
    assert opened == [PUBLISH] * 3


def test_a_call_given_up_is_told_with_who_gave_it_up() -> None:
    talk = Conversation()
    talk.call(1, b"")
    chunks = [*talk.sent, (Side.CALLER, frame(RST_STREAM, 0, 1, (8).to_bytes(4, "big")))]
    assert feed(chunks)[-1] == Reset(1, Side.CALLER, 8)


def test_headers_may_be_padded_continued_and_prioritised() -> None:
    block = hpack.Encoder().encode([(":path", PUBLISH)])
    half = len(block) // 2
    padded = bytes([2]) + b"\0\0\0\0\7" + block[:half] + b"\0\0"
    chunks = [
        (Side.CALLER, PREFACE + frame(HEADERS, PADDED | PRIORITY, 1, padded)),
        (Side.CALLER, frame(CONTINUATION, END_HEADERS, 1, block[half:])),
    ]
    assert plain(feed(chunks)) == [Opened(1, PUBLISH, ())]


@given(st.data())
def test_where_the_bytes_are_cut_does_not_matter(data: st.DataObject) -> None:
    talk = Conversation()
    bodies = data.draw(st.lists(st.binary(max_size=40), max_size=5))
    for number, body in enumerate(bodies):
        talk.call(2 * number + 1, body)
        talk.answer(2 * number + 1, body, status=data.draw(st.integers(0, 16)))
    chunks = []
    for side, sent in talk.sent:
        cut = data.draw(st.integers(0, len(sent)))
        chunks += [(side, sent[:cut]), (side, sent[cut:])]
    assert feed(chunks) == feed(talk.sent)


@given(st.lists(st.tuples(st.sampled_from(Side), st.binary(max_size=200)), max_size=20))
def test_no_bytes_do_harm(chunks: list[tuple[Side, bytes]]) -> None:
    broken = [event for event in feed(chunks) if isinstance(event, Broken)]
    assert len(broken) <= 1


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 255), st.integers(0, 5), st.binary(max_size=30))))
def test_no_frames_do_harm(frames: list[tuple[int, int, int, bytes]]) -> None:
    feed([(Side.CALLER, PREFACE), *((side, frame(*each)) for each in frames for side in Side)])


def test_what_is_no_http2_ends_the_parsing_once() -> None:
    events = feed([(Side.CALLER, b"GET / HTTP/1.1\r\n\r\n"), (Side.CALLER, b"more")])
    assert events == [Broken("from the caller: no HTTP/2 connection preface")]


@pytest.mark.parametrize("state", State)
def test_the_transition_table_never_leaves_closed(state: State) -> None:
    leads = {after for (before, _, _), after in TRANSITIONS.items() if before is state}
    assert state is not State.CLOSED or not leads
