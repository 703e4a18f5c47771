"""Hears what the taps tell, on a socket behind the lab's door, and writes it into the history."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable
from types import ModuleType

import msgspec

from stormpool.history import Event
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Hello

SOCKET = "tap.sock"
log = logging.getLogger(__name__)


class Collector:
    """Listens for taps; one thread each."""

    def __init__(self, path: str, protocol: ModuleType, zero: int, write: Callable[[Event], None]) -> None:
        self._protocol = protocol
        self._zero = zero
        self._write = write
        self._sockets: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, name="collector", daemon=True).start()

    def close(self) -> None:
        """Hear no more; every tap ends by itself then."""
        for each in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                tap, _ = self._listener.accept()
                self._sockets.append(tap)
                threading.Thread(target=self._hear, args=(tap,), name="tap", daemon=True).start()

    def _hear(self, tap: socket.socket) -> None:
        with contextlib.suppress(OSError), tap.makefile("rb", buffering=0) as stream:
            hello = msgspec.json.decode(stream.readline(), type=Hello)
            calls = Calls(hello, self._protocol, self._zero)
            records = wire.Decoder()
            while data := tap.recv(1 << 18):
                for record in records.feed(data):
                    self._tell(calls, record)
            for record in records.rest():
                self._tell(calls, record)

    def _tell(self, calls: Calls, record: wire.Record) -> None:
        for event in calls.take(record):
            self._write(event)
