"""Hears what the taps tell, on a socket behind the lab's door, and writes it into the history."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import logging
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from stormpool.errors import MachineError
from stormpool.store import Recorder
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Held, Hello, Names, Numbers
from stormpool.tap.messages import Protocol
from stormpool.wait import wait_until

log = logging.getLogger(__name__)

SOCKET = "tap.sock"
# Seconds that what a tap tells waits to be read. Read at once, it would be parsed while the caller and the
# plugin want the processors: the calls of a busy tap took 60 us longer (e2e/bench/tap.py, two processors).
LAG = 0.02
MOST = 1 << 20  # bytes read at once
REJOIN = 30.0  # seconds until taps that parted must be back; 0.3 on an emulated machine
HEAR_OUT = 10.0  # seconds that reading what was told may take


class HeldCall:
    """A call that waits in a tap: what becomes of it. Words that come too late are without effect."""

    def __init__(self, held: Held, tap: socket.socket, lock: threading.Lock) -> None:
        self.call = held.call
        self.reply = held.reply
        self._held = held
        self._tap = tap
        self._lock = lock

    def go_on(self) -> None:
        """Let the request go to the plugin, or the answer to the caller."""
        self._order(do="forward" if self.reply is None else "tell")

    def refuse(self, code: int, message: str) -> None:
        """Answer in the plugin's place, with a gRPC status."""
        self._order(do="refuse", code=code, message=message)

    def lose(self) -> None:
        """End the call without an answer."""
        self._order(do="reset")

    def copy(self) -> None:
        """Give the plugin the request, and hold it still."""
        self._order(do="copy")

    def cut(self) -> None:
        """Close the connection between the agent and the plugin."""
        self._order(do="cut")

    def _order(self, **what: object) -> None:
        order = {"connection": self._held.connection, "stream": self._held.stream, **what}
        _say(self._tap, self._lock, order)


def _say(tap: socket.socket, lock: threading.Lock, order: dict[str, object]) -> None:
    with lock, contextlib.suppress(OSError):  # a tap that is gone has nothing left to do
        tap.sendall(json.dumps(order).encode() + b"\n")


class Heard(NamedTuple):
    """What one tap has told so far, as far as what it tells next depends on it."""

    hello: Hello
    calls: Calls
    records: wire.Decoder


class Collector:
    """Listens for taps; one thread each."""

    def __init__(
        self,
        path: str,
        protocol: Protocol,
        recorder: Recorder,
        here: Callable[[str, int], int] = lambda _, at: at,
    ) -> None:
        """`here`: a time on a node, in nanoseconds, as this host's clock shows it."""
        self._protocol = protocol
        self._here = here
        self._recorder = recorder
        self._closing = threading.Event()
        self._taps: list[socket.socket] = []
        self._numbers: dict[str, Iterator[int]] = {}  # of the next call, for each tap by its name
        self._names: Names = {}
        self._busy: set[socket.socket] = set()  # what these told is being read
        self._reads: Counter[socket.socket] = Counter()  # of what each told, written down
        self._unread: list[Exception] = []  # why a tap is heard no more
        self._parting = False
        self._parted: dict[bytes, Heard] = {}  # what was heard of taps when they parted, by their greeting
        self._orders = threading.Lock()
        self._watched: list[str] = []
        self._on_held: Callable[[HeldCall], None] = HeldCall.go_on
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, name="collector", daemon=True).start()

    def hold(self, methods: Iterable[str], on_held: Callable[[HeldCall], None]) -> None:
        """From now on calls of these methods stop, twice each, and `on_held` is asked; it must not block."""
        self._on_held = on_held
        self._watched = sorted(methods)
        for tap in list(self._taps):
            self._say_watched(tap)

    def hear_out(self) -> None:
        """Return when all that the taps have told by now is in the history.

        Raises `TimedOut`, and `MachineError` where something told could not be: a part of what happened is
        missing then, and nothing is to be judged by the rest.
        """
        reads = self._reads.copy()
        wait_until(
            "every tap is heard out",
            lambda: self._unheard(reads),
            lambda unheard: unheard == 0,
            timeout=HEAR_OUT,
            ignoring=(OSError, ValueError),  # one has just ended, and its socket with it
        )
        for error in self._unread:
            raise MachineError(f"what a tap told could not be written down: {error!r}") from error

    def part(self, pace: float) -> None:
        """Have every tap part, and return when all have: then their nodes can be copied.

        `pace`: how many times as long that may take there. A tap that comes back, of a node or of a copy of
        it, is heard on from where it was.
        """
        self._parting = True
        self._parted.clear()
        for tap in list(self._taps):
            _say(tap, self._orders, {"part": True})
        wait_until(
            "every tap has parted", lambda: len(self._taps), lambda taps: taps == 0, timeout=HEAR_OUT * pace
        )
        self._parting = False

    def wait_rejoined(self) -> None:
        """Return when every tap that had parted is heard again."""
        back = len(self._parted)
        wait_until("every tap is back", lambda: len(self._taps), lambda taps: taps >= back, timeout=REJOIN)

    def close(self) -> None:
        """Hear no more; every tap ends by itself then."""
        self._closing.set()
        for each in (self._listener, *self._taps):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _say_watched(self, tap: socket.socket) -> None:
        protocol = self._protocol
        order: dict[str, object] = {
            "watch": self._watched,
            "streams": protocol.streams,
            "uploads": protocol.uploads,
        }
        _say(tap, self._orders, order)

    def _unheard(self, reads: Counter[socket.socket]) -> int:
        """How many taps had told something, when so much of each was read, that may not be written down.

        One of a busy plugin is never still. What it had told is written, once a read that began since is: a
        read takes all there is. The one that was under way may have begun before.
        """
        readable = select.select(self._taps, [], [], 0)[0]
        return sum(self._reads[tap] < reads[tap] + 2 for tap in {*readable, *self._busy})

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                tap, _ = self._listener.accept()
                self._taps.append(tap)
                if self._watched:
                    self._say_watched(tap)
                threading.Thread(target=self._hear, args=(tap,), name="tap", daemon=True).start()

    def _hear(self, tap: socket.socket) -> None:
        """Write down all that a tap tells, until it ends; one that cannot be heard to its end is let go."""
        try:
            self._write_down(tap)
        except Exception as error:  # whatever it is: the run is told, and the plugin's calls go on
            log.exception("a tap is heard no more")
            self._unread.append(error)
        finally:
            self._taps.remove(tap)
            self._busy.discard(tap)
            del self._reads[tap]
            tap.close()

    def _write_down(self, tap: socket.socket) -> None:
        line = _greeting(tap)
        if line is None:
            return
        hello, calls, records = self._heard_of(line)
        for data in self._told(tap):
            for record in records.feed(data):
                self._tell(calls, self._timed(hello.node, record), tap)
        if self._parting:
            self._parted[line] = Heard(hello, calls, records)
            return
        for record in records.rest():
            self._tell(calls, self._timed(hello.node, record), tap)
        if not self._closing.is_set():
            for event in calls.lost(time.monotonic_ns()):
                self._recorder.write(event)

    def _heard_of(self, line: bytes) -> Heard:
        """What to go on from with a tap: nothing, or what was heard of it when it parted, each time anew."""
        if line in self._parted:
            shared = (self._protocol, self._recorder, self._names)
            return copy.deepcopy(self._parted[line], {id(each): each for each in shared})
        hello = msgspec.json.decode(line, type=Hello)
        numbers = self._numbers.setdefault(hello.name, Numbers())
        return Heard(
            hello, Calls(hello, self._protocol, self._recorder, numbers, self._names), wire.Decoder()
        )

    def _timed(self, node: str, record: wire.Record) -> wire.Record:
        """A record with its times as this host's clock shows them."""
        at = self._here(node, record.read_at), self._here(node, record.written_at)
        if at == (record.read_at, record.written_at):
            return record
        return dataclasses.replace(record, read_at=at[0], written_at=at[1])

    def _told(self, tap: socket.socket) -> Iterator[bytes]:
        """What a tap tells, as it comes, until it ends."""
        with contextlib.suppress(OSError):  # it had an order left to read, or nobody hears any more
            while tap.recv(1, socket.MSG_PEEK):
                self._busy.add(tap)
                if not self._watched:  # else somebody may be waiting for an answer
                    self._closing.wait(LAG)
                yield tap.recv(MOST)
                self._reads[tap] += 1
                self._busy.discard(tap)

    def _tell(self, calls: Calls, record: wire.Record, tap: socket.socket) -> None:
        for event in calls.take(record):
            if isinstance(event, Held):
                self._on_held(HeldCall(event, tap, self._orders))
            else:
                self._recorder.write(event)


def _greeting(tap: socket.socket) -> bytes | None:
    """Which tap speaks, as it says so; None when it ended before."""
    with contextlib.suppress(OSError), tap.makefile("rb", buffering=0) as stream:
        line = stream.readline()
        return line if line.endswith(b"\n") else None
    return None
