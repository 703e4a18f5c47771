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
from stormpool.tap.relay import Answered, Asked, GivenUp, Output, Relay, Send, Streamed
from stormpool.wait import wait_until

WATCHED = "/lab.Plugin/Watched"
OTHER = "/lab.Plugin/Other"
STREAM = "/lab.Plugin/Stream"
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

        if details.method == STREAM:
            return grpc.unary_stream_rpc_method_handler(stream)

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            context.add_callback(lambda: None if self.go_on.is_set() else self.cancelled.set())
            self.heard.append(request)
            self.go_on.wait(PATIENCE)
            if request == b"fail":
                context.abort(grpc.StatusCode.ABORTED, "as asked: \u00fc")
            return request + b" x%d" % self.heard.count(request)

        return grpc.unary_unary_rpc_method_handler(answer)


class Wire:
    """A relay on two real sockets; what it tells is in `told`, what it is to do is done by `do`."""

    def __init__(self, listen: Path, plugin: Path) -> None:
        self.told: Queue[Output] = Queue()
        self.relay = Relay(lambda path: path in (WATCHED, STREAM), lambda path: path == STREAM)
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
        self._grpc = grpc.server(ThreadPoolExecutor(8), handlers=[self.server])
        self._grpc.add_insecure_port(f"unix:{directory}/plugin.sock")
        self._grpc.start()
        self.wire = Wire(directory / "csi.sock", directory / "plugin.sock")
        self._channel = grpc.insecure_channel(f"unix:{directory}/csi.sock")

    def call(self, path: str, body: bytes, timeout: float = PATIENCE) -> Any:
        """Make a call, without waiting for it."""
        calling: Any = self._channel.unary_unary(path).future
        return calling(body, timeout=timeout)

    def stream(self, body: bytes) -> Any:
        """Make a call that is answered with a stream."""
        calling: Any = self._channel.unary_stream(STREAM)
        return calling(body, timeout=PATIENCE)

    def close(self) -> None:
        """End them all."""
        self._channel.close()
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
