"""Calls held, let go, refused, copied and lost between a real gRPC client and a real gRPC server."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import grpc
import pytest

from stormpool.tap.frames import Side
from stormpool.tap.outputs import Answered, Asked, GivenUp, Output, Send, Streamed
from stormpool.tap.relay import Relay
from stormpool.wait import wait_until

WATCHED = "/lab.Plugin/Watched"
OTHER = "/lab.Plugin/Other"
STREAM = "/lab.Plugin/Stream"
UPLOAD = "/lab.Plugin/Upload"
TALK = "/lab.Plugin/Talk"  # of which both sides go on
# Room as grpc-go has it, and none added to it: what is larger goes as it is taken.
LITTLE_ROOM = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65535))
PATIENCE = 10.0  # seconds until a test gives up


class Server(grpc.GenericRpcHandler):
    """Answers a call with its own words and how often it heard them."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.cancelled = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        def stream(request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
            for number in range(3):
                yield request + b" %d" % number
                self.go_on.wait(PATIENCE)

        def upload(requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
            return b"".join(self._hear(requests))

        if details.method == STREAM:
            return grpc.unary_stream_rpc_method_handler(stream)
        if details.method == UPLOAD:
            return grpc.stream_unary_rpc_method_handler(upload)
        if details.method == TALK:
            return grpc.stream_stream_rpc_method_handler(lambda requests, context: self._hear(requests))

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            context.add_callback(lambda: None if self.go_on.is_set() else self.cancelled.set())
            self.heard.append(request)
            self.go_on.wait(PATIENCE)
            if request == b"fail":
                context.abort(grpc.StatusCode.ABORTED, "as asked: \u00fc")
            return request + b" x%d" % self.heard.count(request)

        return grpc.unary_unary_rpc_method_handler(answer)

    def _hear(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        for request in requests:
            self.heard.append(request)
            yield request


class Wire:
    """A relay on two real sockets; what it tells is in `told`, what it is to do is done by `do`."""

    def __init__(self, listen: Path, plugin: Path) -> None:
        self.told: Queue[Output] = Queue()
        self.relay = Relay(
            lambda path: path != OTHER,
            lambda path: path in (STREAM, TALK),
            lambda path: path in (UPLOAD, TALK),
        )
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(listen))
        self.listener.listen()
        self.plugin = plugin
        self.lock = threading.Lock()
        self.ends: dict[Side, socket.socket] = {}
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        caller, _ = self.listener.accept()
        plugin = socket.socket(socket.AF_UNIX)
        plugin.connect(str(self.plugin))
        self.ends = {Side.CALLER: caller, Side.PLUGIN: plugin}
        for side in Side:
            threading.Thread(target=self._read, args=(side,), daemon=True).start()

    def _read(self, side: Side) -> None:
        try:
            while data := self.ends[side].recv(1 << 16):
                with self.lock:
                    self._carry_out(self.relay.feed(side, data))
        except OSError:
            return

    def do(self, what: Callable[[int], Iterator[Output]], stream: int) -> None:
        """Tell the relay what becomes of a call."""
        with self.lock:
            self._carry_out(what(stream))

    def _carry_out(self, outputs: Iterator[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.ends[output.to].sendall(output.data)
            elif isinstance(output, GivenUp) or output.held:
                self.told.put(output)

    def asked(self) -> Asked:
        """The next request that is held."""
        told = self.told.get(timeout=PATIENCE)
        assert isinstance(told, Asked), told
        return told

    def streamed(self) -> Streamed:
        """The next message of a stream that is held."""
        told = self.told.get(timeout=PATIENCE)
        assert isinstance(told, Streamed), told
        return told

    def answered(self) -> Answered:
        """The next answer that is held."""
        told = self.told.get(timeout=PATIENCE)
        assert isinstance(told, Answered), told
        return told

    def close(self) -> None:
        """Close every socket."""
        for end in (self.listener, *self.ends.values()):
            end.close()


class Lines:
    """A client, a relay, a server."""

    def __init__(self, directory: Path) -> None:
        self.server = Server()
        self._grpc = grpc.server(ThreadPoolExecutor(8), handlers=[self.server], options=LITTLE_ROOM)
        self._grpc.add_insecure_port(f"unix:{directory}/plugin.sock")
        self._grpc.start()
        self.wire = Wire(directory / "csi.sock", directory / "plugin.sock")
        self.channel = grpc.insecure_channel(f"unix:{directory}/csi.sock", options=LITTLE_ROOM)

    def call(self, path: str, body: bytes, timeout: float = PATIENCE) -> Any:
        """Make a call, without waiting for it."""
        calling: Any = self.channel.unary_unary(path).future
        return calling(body, timeout=timeout)

    def stream(self, body: bytes) -> Any:
        """Make a call that is answered with a stream."""
        calling: Any = self.channel.unary_stream(STREAM)
        return calling(body, timeout=PATIENCE)

    def close(self) -> None:
        """End them all."""
        self.channel.close()
        self.wire.close()
        self._grpc.stop(0).wait()


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Lines]:
    made = Lines(tmp_path)
    yield made
    made.close()


def test_calls_that_nobody_watches_pass(lines: Lines) -> None:
    calls = [lines.call(OTHER, b"%d" % number) for number in range(50)]
    assert [call.result() for call in calls] == [b"%d x1" % number for number in range(50)]
    large = b"l" * 300_000
    assert lines.call(OTHER, large).result() == large + b" x1"
    with pytest.raises(grpc.RpcError) as failed:
        lines.call(OTHER, b"fail").result()
    assert (failed.value.code(), failed.value.details()) == (grpc.StatusCode.ABORTED, "as asked: \u00fc")


def test_a_call_is_held_twice_and_let_go(lines: Lines) -> None:
    call = lines.call(WATCHED, b"hello")
    asked = lines.wire.asked()
    assert (asked.path, asked.body) == (WATCHED, b"hello")
    assert lines.call(OTHER, b"meanwhile").result() == b"meanwhile x1"
    assert lines.server.heard == [b"meanwhile"]
    lines.wire.do(lines.wire.relay.forward, asked.stream)
    answered = lines.wire.answered()
    assert (answered.code, answered.body) == (0, b"hello x1")
    assert not call.done()
    lines.wire.do(lines.wire.relay.tell, asked.stream)
    assert call.result() == b"hello x1"


def test_held_calls_go_on_in_another_order(lines: Lines) -> None:
    first, second = lines.call(WATCHED, b"first"), lines.call(WATCHED, b"second")
    streams = {asked.body: asked.stream for asked in (lines.wire.asked(), lines.wire.asked())}
    for body, call in ((b"second", second), (b"first", first)):
        lines.wire.do(lines.wire.relay.forward, streams[body])
        assert lines.wire.answered().body == body + b" x1"
        lines.wire.do(lines.wire.relay.tell, streams[body])
        assert call.result() == body + b" x1"
    assert lines.server.heard == [b"second", b"first"]


def test_a_call_is_refused_in_the_plugins_place(lines: Lines) -> None:
    call = lines.call(WATCHED, b"hello")
    stream = lines.wire.asked().stream
    lines.wire.do(lambda stream: lines.wire.relay.refuse(stream, 14, "gone: 100 %"), stream)
    with pytest.raises(grpc.RpcError) as failed:
        call.result()
    assert (failed.value.code(), failed.value.details()) == (grpc.StatusCode.UNAVAILABLE, "gone: 100 %")
    assert lines.server.heard == []
    assert lines.call(OTHER, b"next").result() == b"next x1"


def test_an_answer_is_lost_after_the_work_was_done(lines: Lines) -> None:
    call = lines.call(WATCHED, b"hello")
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.forward, stream)
    lines.wire.answered()
    lines.wire.do(lines.wire.relay.reset, stream)
    with pytest.raises(grpc.RpcError):
        call.result()
    assert lines.server.heard == [b"hello"]
    assert lines.call(OTHER, b"next").result() == b"next x1"


def test_a_request_is_sent_twice(lines: Lines) -> None:
    call = lines.call(WATCHED, b"hello")
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.copy, stream)
    lines.wire.do(lines.wire.relay.forward, stream)
    lines.wire.answered()
    lines.wire.do(lines.wire.relay.tell, stream)
    assert call.result().startswith(b"hello x")
    assert lines.call(OTHER, b"next").result() == b"next x1"
    assert lines.server.heard[:2] == [b"hello", b"hello"]


def test_a_caller_that_gives_up_is_told_of_and_the_plugin_hears_it(lines: Lines) -> None:
    lines.server.go_on.clear()
    call = lines.call(WATCHED, b"hello")
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.forward, stream)
    wait_until("the plugin has it", lambda: lines.server.heard, timeout=PATIENCE)
    call.cancel()
    assert lines.wire.told.get(timeout=PATIENCE) == GivenUp(stream, Side.CALLER)
    assert lines.server.cancelled.wait(PATIENCE)
    lines.server.go_on.set()
    assert lines.call(OTHER, b"next").result() == b"next x1"


@pytest.mark.parametrize("goes_on", [True, False], ids=["ends", "goes_on"])
def test_a_stream_is_held_at_its_first_message(lines: Lines, goes_on: bool) -> None:
    if not goes_on:
        lines.server.go_on.clear()
    call = lines.stream(b"hello")
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.forward, stream)
    assert lines.wire.streamed() == Streamed(stream, b"hello 0", held=True)
    lines.wire.do(lines.wire.relay.tell, stream)
    assert next(call) == b"hello 0"
    lines.server.go_on.set()
    assert list(call) == [b"hello 1", b"hello 2"]
    assert lines.wire.told.empty()


def test_a_stream_is_refused_once_it_has_said_something(lines: Lines) -> None:
    lines.server.go_on.clear()
    call = lines.stream(b"hello")
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.forward, stream)
    lines.wire.streamed()
    lines.wire.do(lambda stream: lines.wire.relay.refuse(stream, 14, "gone"), stream)
    with pytest.raises(grpc.RpcError) as failed:
        next(call)
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    lines.server.go_on.set()


@pytest.mark.parametrize("size", [70_000, 1_000_000, 3_000_000])
def test_what_is_held_may_be_larger_than_its_receiver_has_room_for(lines: Lines, size: int) -> None:
    body = bytes(range(256)) * (size // 256)
    for _ in range(2):
        call = lines.call(WATCHED, body)
        stream = lines.wire.asked().stream
        assert lines.call(OTHER, b"meanwhile").result().startswith(b"meanwhile")
        lines.wire.do(lines.wire.relay.forward, stream)
        lines.wire.answered()
        assert lines.call(OTHER, b"meanwhile").result().startswith(b"meanwhile")
        lines.wire.do(lines.wire.relay.tell, stream)
        assert call.result()[: len(body)] == body
    assert lines.call(OTHER, body).result() == body + b" x3"


def test_many_that_are_held_leave_room_for_others(lines: Lines) -> None:
    body = b"b" * 10_000
    calls = [lines.call(WATCHED, body) for _ in range(30)]
    asked = [lines.wire.asked() for _ in calls]
    for each in asked:
        lines.wire.do(lines.wire.relay.forward, each.stream)
    for _ in calls:
        lines.wire.answered()
    assert lines.call(OTHER, b"o" * 200_000).result() == b"o" * 200_000 + b" x1"
    for each in asked:
        lines.wire.do(lines.wire.relay.tell, each.stream)
    assert all(call.result().startswith(body) for call in calls)


def test_a_large_request_is_sent_twice(lines: Lines) -> None:
    body = b"l" * 300_000
    call = lines.call(WATCHED, body)
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.copy, stream)
    lines.wire.do(lines.wire.relay.forward, stream)
    lines.wire.answered()
    lines.wire.do(lines.wire.relay.tell, stream)
    assert call.result().startswith(body)
    for _ in range(5):
        assert lines.call(OTHER, body).result().startswith(body)
    wait_until("both were heard", lambda: lines.server.heard.count(body), lambda n: n == 7, timeout=PATIENCE)


def test_large_calls_that_are_lost_leave_room_for_others(lines: Lines) -> None:
    body = b"l" * 300_000
    for after in (False, True):
        for _ in range(3):
            call = lines.call(WATCHED, body)
            stream = lines.wire.asked().stream
            if after:
                lines.wire.do(lines.wire.relay.forward, stream)
                lines.wire.answered()
            lines.wire.do(lines.wire.relay.reset, stream)
            with pytest.raises(grpc.RpcError):
                call.result()
    assert lines.call(OTHER, body).result().startswith(body)


def test_a_request_that_goes_on_is_held_at_its_first_message(lines: Lines) -> None:
    more: Queue[bytes | None] = Queue()
    more.put(b"first")
    upload: Any = lines.channel.stream_unary(UPLOAD).future
    call = upload(iter(more.get, None), timeout=PATIENCE)
    asked = lines.wire.asked()
    assert (asked.path, asked.body) == (UPLOAD, b"first")
    assert lines.server.heard == []
    lines.wire.do(lines.wire.relay.forward, asked.stream)
    more.put(b"m" * 200_000)
    more.put(None)
    lines.wire.answered()
    lines.wire.do(lines.wire.relay.tell, asked.stream)
    assert call.result() == b"first" + b"m" * 200_000


def test_a_call_of_which_both_sides_go_on_is_held_twice(lines: Lines) -> None:
    more: Queue[bytes | None] = Queue()
    more.put(b"f" * 100_000)
    talk: Any = lines.channel.stream_stream(TALK)
    call = talk(iter(more.get, None), timeout=PATIENCE)
    asked = lines.wire.asked()
    assert len(asked.body) == 100_000
    lines.wire.do(lines.wire.relay.forward, asked.stream)
    assert len(lines.wire.streamed().body) == 100_000
    lines.wire.do(lines.wire.relay.tell, asked.stream)
    assert len(next(call)) == 100_000
    more.put(b"second")
    assert next(call) == b"second"
    more.put(None)
    assert list(call) == []


def test_a_first_message_that_is_sent_twice_is_the_whole_of_the_copy(lines: Lines) -> None:
    more: Queue[bytes | None] = Queue()
    more.put(b"first")
    talk: Any = lines.channel.stream_stream(TALK)
    call = talk(iter(more.get, None), timeout=PATIENCE)
    stream = lines.wire.asked().stream
    lines.wire.do(lines.wire.relay.copy, stream)
    wait_until("the copy is heard", lambda: lines.server.heard == [b"first"], timeout=PATIENCE)
    lines.wire.do(lines.wire.relay.forward, stream)
    lines.wire.streamed()
    lines.wire.do(lines.wire.relay.tell, stream)
    more.put(None)
    assert list(call) == [b"first"]
    assert lines.server.heard == [b"first", b"first"]


def test_calls_that_are_let_go_are_not_held_again(lines: Lines) -> None:
    body = b"b" * 100_000
    calls = [lines.call(WATCHED, body) for _ in range(4)]
    asked = [lines.wire.asked() for _ in calls]
    lines.wire.do(lines.wire.relay.forward, asked[0].stream)
    lines.wire.answered()
    lines.wire.do(lambda _: lines.wire.relay.let_go(), 0)
    assert all(call.result().startswith(body) for call in calls)
