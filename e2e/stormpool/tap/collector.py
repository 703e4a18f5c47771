"""Hears what the taps tell, on a socket behind the lab's door, and writes it into the history."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from types import ModuleType

import msgspec

from stormpool.history import Event
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Hello
from stormpool.wait import wait_until

SOCKET = "tap.sock"
# Seconds that what a tap tells waits to be read. Read at once, it would be parsed while the caller and the
# plugin want the processors: the calls of a busy tap took 60 us longer (e2e/bench/tap.py, two processors).
LAG = 0.02
MOST = 1 << 20  # bytes read at once
HEAR_OUT = 10.0  # seconds that reading what was told may take


class Collector:
    """Listens for taps; one thread each."""

    def __init__(self, path: str, protocol: ModuleType, zero: int, write: Callable[[Event], None]) -> None:
        self._protocol = protocol
        self._zero = zero
        self._write = write
        self._closing = threading.Event()
        self._taps: list[socket.socket] = []
        self._busy: set[socket.socket] = set()  # what these told is being read
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, name="collector", daemon=True).start()

    def hear_out(self) -> None:
        """Return when all that the taps have told by now is in the history. Raises `TimedOut`."""
        wait_until(
            "every tap is heard out",
            self._unheard,
            lambda unheard: unheard == 0,
            timeout=HEAR_OUT,
            ignoring=(OSError, ValueError),  # one has just ended, and its socket with it
        )

    def close(self) -> None:
        """Hear no more; every tap ends by itself then."""
        self._closing.set()
        for each in (self._listener, *self._taps):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _unheard(self) -> int:
        readable = select.select(self._taps, [], [], 0)[0]
        return len({*readable, *self._busy})

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                tap, _ = self._listener.accept()
                self._taps.append(tap)
                threading.Thread(target=self._hear, args=(tap,), name="tap", daemon=True).start()

    def _hear(self, tap: socket.socket) -> None:
        with contextlib.suppress(OSError, msgspec.DecodeError), tap.makefile("rb", buffering=0) as stream:
            hello = msgspec.json.decode(stream.readline(), type=Hello)
            calls = Calls(hello, self._protocol, self._zero)
            records = wire.Decoder()
            while tap.recv(1, socket.MSG_PEEK):
                self._busy.add(tap)
                self._closing.wait(LAG)
                for record in records.feed(tap.recv(MOST)):
                    self._tell(calls, record)
                self._busy.discard(tap)
            for record in records.rest():
                self._tell(calls, record)
        self._taps.remove(tap)
        self._busy.discard(tap)
        tap.close()

    def _tell(self, calls: Calls, record: wire.Record) -> None:
        for event in calls.take(record):
            self._write(event)
