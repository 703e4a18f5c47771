"""The tap's way to the collector and back: records out, lines of JSON in; shared by all of its threads."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from stormpool.tap.wire import Record

REPORT_BUFFER = 8 << 20  # bytes the collector may lag behind before forwarding waits for it


class Report:
    """The connection to the collector."""

    def __init__(self, path: str, hello: str) -> None:
        self._path = path
        self._hello = os.fsencode(hello) + b"\n"
        self.socket = self._connect()
        self.socket.sendall(self._hello)
        self.number = itertools.count()
        self.parted = False
        self._lock = threading.Lock()
        self._unread = b""
        self._untold: list[bytes] = []  # since it has parted

    def tell(self, number: int, connection: int, kind: int, read_at: int, body: bytes) -> None:
        """Tell of bytes that have been forwarded, or of a connection's begin or end."""
        record = Record(number, connection, kind, read_at, time.monotonic_ns(), body).encode()
        with self._lock, contextlib.suppress(OSError):  # the harness is gone, and soon so is the lab
            if self.parted:
                self._untold.append(record)
            else:
                self.socket.sendall(record)

    def part(self) -> None:
        """Close the connection: its node is about to be copied. What is to be told is kept until `rejoin`."""
        with self._lock:
            self.parted = True
            self.socket.close()
            self._unread = b""

    def rejoin(self) -> bool:
        """Try to connect anew and tell what was kept; whether that was possible."""
        try:
            joined = self._connect()
        except OSError:
            return False
        with self._lock, contextlib.suppress(OSError):
            self.socket = joined
            self.socket.sendall(b"".join([self._hello, *self._untold]))
            self._untold.clear()
            self.parted = False
        return not self.parted

    def _connect(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REPORT_BUFFER)
        try:
            made.connect(self._path)
        except OSError:
            made.close()
            raise
        return made

    def note(self, connection: int, kind: int, what: str) -> None:
        """Tell of what happened just now."""
        self.tell(next(self.number), connection, kind, time.monotonic_ns(), what.encode())

    def orders(self) -> Iterator[dict[str, Any]] | None:
        """What the collector wants, now that there is something to read; None when it is gone."""
        try:
            data = self.socket.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            return None
        *lines, self._unread = (self._unread + data).split(b"\n")
        return (json.loads(line) for line in lines)
