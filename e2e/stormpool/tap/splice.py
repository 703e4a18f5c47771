"""A caller and a plugin joined with nothing in between: every byte is forwarded first and told of after.

One thread a direction, for a thread that waits in a read is woken sooner than a loop over all of them
(measured: docs/adr/0003).
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from stormpool.tap.joined import Joined
from stormpool.tap.report import Report
from stormpool.tap.wire import CALLER, PLUGIN

CHUNK = 1 << 18  # bytes read at once
FRAME_HEADER = 9  # bytes (RFC 9113, section 4.1)
# A GOAWAY that names every stream (RFC 9113, section 6.8): calls under way are finished, the next one is made
# on a new connection.
GOODBYE = bytes.fromhex("000008 07 00 00000000 7fffffff 00000000")


class Splice(Joined):
    """A connection whose bytes pass as they are."""

    def __init__(self, number: int, caller: socket.socket, plugin: socket.socket, report: Report) -> None:
        super().__init__(number, caller, plugin, report)
        self._to_caller = threading.Lock()  # held while the caller is sent something
        self._frames = FrameEnds()
        self._retiring = False

    def retire(self) -> None:
        """Make the caller leave for a new connection, without harm to its calls under way."""
        with self._to_caller:
            self._retiring = True
            self._say_goodbye()

    def obey(self, order: dict[str, Any]) -> None:
        """Nothing: no call is held here."""

    def let_go(self) -> None:
        """Nothing, for the same reason."""

    def _say_goodbye(self) -> None:
        if self._retiring and self._frames.between:
            self._retiring = False
            with contextlib.suppress(OSError):
                self._caller.sendall(GOODBYE)

    def _from_caller(self) -> None:
        self._forward(CALLER, self._caller, self._plugin.sendall)
        self._end("caller")

    def _from_plugin(self) -> None:
        self._forward(PLUGIN, self._plugin, self._send_to_caller)
        self._end("plugin")

    def _send_to_caller(self, data: memoryview) -> None:
        with self._to_caller:
            self._caller.sendall(data)
            self._frames.feed(data)
            self._say_goodbye()

    def _forward(self, kind: int, source: socket.socket, send: Callable[[memoryview], None]) -> None:
        buffer = bytearray(CHUNK)
        view = memoryview(buffer)
        report, connection, numbers, clock = (
            self._report,
            self._number,
            self._report.number,
            time.monotonic_ns,
        )
        with contextlib.suppress(OSError):
            while length := source.recv_into(buffer):
                read_at, number = clock(), next(numbers)
                try:
                    send(view[:length])
                finally:  # a number once taken is told of, or the collector waits for it for ever
                    report.tell(number, connection, kind, read_at, bytes(view[:length]))


class FrameEnds:
    """Where frames end in what has passed, and nothing else about them."""

    def __init__(self) -> None:
        self._header = b""
        self._left = 0
        self._begun = False

    @property
    def between(self) -> bool:
        """Whether what has passed ends with a frame: not before the first, which is the server's SETTINGS."""
        return self._begun and not self._header and not self._left

    def feed(self, data: memoryview) -> None:
        """Take what has passed now."""
        at = 0
        while at < len(data):
            if self._left:
                passed = min(self._left, len(data) - at)
                self._left -= passed
                at += passed
                continue
            taken = data[at : at + FRAME_HEADER - len(self._header)]
            self._header += taken
            at += len(taken)
            if len(self._header) == FRAME_HEADER:
                self._left = int.from_bytes(self._header[:3], "big")
                self._header = b""
                self._begun = True
