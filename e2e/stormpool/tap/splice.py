"""A caller and a plugin joined with nothing in between: every byte is forwarded first and told of after.

One thread a direction, for a thread that waits in a read is woken sooner than a loop over all of them
(measured: docs/adr/0003).
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from stormpool.tap.report import Report
from stormpool.tap.wire import CALLER, ENDED, OPENED, PLUGIN

CHUNK = 1 << 18  # bytes read at once
FRAME_HEADER = 9  # bytes (RFC 9113, section 4.1)
# A GOAWAY that names every stream (RFC 9113, section 6.8): calls under way are finished, the next one is made
# on a new connection.
GOODBYE = bytes.fromhex("000008 07 00 00000000 7fffffff 00000000")


class Splice:
    """One connection of a caller, joined to the plugin."""

    def __init__(self, number: int, caller: socket.socket, plugin: socket.socket, report: Report) -> None:
        self._number = number
        self._ends = {CALLER: caller, PLUGIN: plugin}
        self._report = report
        self._over = threading.Lock()
        self._to_caller = threading.Lock()  # held while the caller is sent something
        self._frames = FrameEnds()
        self._retiring = False

    def start(self, peer: int) -> None:
        """Forward both ways until either end closes."""
        self._report.note(self._number, OPENED, str(peer))
        threading.Thread(target=self._from_caller, daemon=True).start()
        threading.Thread(target=self._from_plugin, daemon=True).start()

    def retire(self) -> None:
        """Make the caller leave for a new connection, without harm to its calls under way."""
        with self._to_caller:
            self._retiring = True
            self._say_goodbye()

    def _say_goodbye(self) -> None:
        if self._retiring and self._frames.between:
            self._retiring = False
            with contextlib.suppress(OSError):
                self._ends[CALLER].sendall(GOODBYE)

    def _from_caller(self) -> None:
        buffer = bytearray(CHUNK)
        view = memoryview(buffer)
        source, target, report = self._ends[CALLER], self._ends[PLUGIN], self._report
        with contextlib.suppress(OSError):
            while length := source.recv_into(buffer):
                read_at, number = time.monotonic_ns(), next(report.number)
                try:
                    target.sendall(view[:length])
                finally:  # a number once taken is told of, or the collector waits for it for ever
                    report.tell(number, self._number, CALLER, read_at, bytes(view[:length]))
        self._end("caller")

    def _from_plugin(self) -> None:
        buffer = bytearray(CHUNK)
        view = memoryview(buffer)
        source, target, report = self._ends[PLUGIN], self._ends[CALLER], self._report
        with contextlib.suppress(OSError):
            while length := source.recv_into(buffer):
                read_at, number = time.monotonic_ns(), next(report.number)
                try:
                    with self._to_caller:
                        target.sendall(view[:length])
                        self._frames.feed(view[:length])
                        self._say_goodbye()
                finally:
                    report.tell(number, self._number, PLUGIN, read_at, bytes(view[:length]))
        self._end("plugin")

    def _end(self, who: str) -> None:
        """One end has closed: gRPC knows no half-open connections, so both go."""
        if not self._over.acquire(blocking=False):
            return
        self._report.note(self._number, ENDED, who)
        for end in self._ends.values():
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class FrameEnds:
    """Where frames end in what has passed, and nothing else about them."""

    def __init__(self) -> None:
        self._header = b""
        self._left = 0

    @property
    def between(self) -> bool:
        """Whether what has passed ends with a frame."""
        return not self._header and not self._left

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
