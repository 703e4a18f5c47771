"""The tap itself: a process on a plugin's socket that forwards every byte and tells the collector of it.

    python -m stormpool.tap.proxy --listen SOCKET --plugin SOCKET --report SOCKET --hello JSON

It forwards first and tells after, and parses nothing: between a read and its write there is no work. One
thread a direction, for a thread that waits in a read is woken sooner than a loop over all of them (measured:
docs/adr/0003). It needs only Python's standard library, and the plugin needs not know of it.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import select
import socket
import struct
import threading
import time
from pathlib import Path

from stormpool.tap.wire import CALLER, ENDED, OPENED, PLUGIN, Record

CHUNK = 1 << 18  # bytes read at once
REPORT_BUFFER = 8 << 20  # bytes the collector may lag behind before forwarding waits for it
FIRST_CONTACT = 20.0  # seconds that a plugin which has never listened may take to
LOOK_EVERY = 0.005  # seconds between two looks for it
BACKLOG = 128


class Report:
    """The way to the collector, shared by all threads."""

    def __init__(self, path: str, hello: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REPORT_BUFFER)
        self.socket.connect(path)
        self.socket.sendall(os.fsencode(hello) + b"\n")
        self.number = itertools.count()
        self._lock = threading.Lock()

    def tell(self, number: int, connection: int, kind: int, read_at: int, body: bytes) -> None:
        """Tell of bytes that have been forwarded, or of a connection's begin or end."""
        record = Record(number, connection, kind, read_at, time.monotonic_ns(), body).encode()
        with self._lock, contextlib.suppress(OSError):  # the harness is gone, and soon so is the lab
            self.socket.sendall(record)

    def note(self, connection: int, kind: int, what: str) -> None:
        """Tell of what happened just now."""
        self.tell(next(self.number), connection, kind, time.monotonic_ns(), what.encode())


class Connection:
    """One caller and the plugin, joined."""

    def __init__(self, number: int, caller: socket.socket, plugin: socket.socket, report: Report) -> None:
        self._number = number
        self._ends = {CALLER: caller, PLUGIN: plugin}
        self._report = report
        self._over = threading.Lock()

    def start(self) -> None:
        """Forward both ways until either end closes."""
        self._report.note(self._number, OPENED, str(_peer(self._ends[CALLER])))
        for kind in self._ends:
            threading.Thread(target=self._forward, args=(kind,), daemon=True).start()

    def _forward(self, kind: int) -> None:
        source, target = self._ends[kind], self._ends[PLUGIN if kind == CALLER else CALLER]
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
                read_at = clock()
                number = next(numbers)
                try:
                    target.sendall(view[:length])
                finally:  # a number once taken is told of, or the collector waits for it for ever
                    report.tell(number, connection, kind, read_at, bytes(view[:length]))
        self._end("caller" if kind == CALLER else "plugin")

    def _end(self, who: str) -> None:
        """One end has closed: gRPC knows no half-open connections, so both go."""
        if not self._over.acquire(blocking=False):
            return
        self._report.note(self._number, ENDED, who)
        for end in self._ends.values():
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Tap:
    """Accepts callers and joins each to the plugin."""

    def __init__(self, listen: str, plugin: str, report: Report) -> None:
        self._plugin = plugin
        self._report = report
        self._met = False  # the plugin has listened at least once
        Path(listen).parent.mkdir(parents=True, exist_ok=True)
        Path(listen).unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(listen)
        self._listener.listen(BACKLOG)

    def serve(self) -> None:
        """Accept callers until the collector goes away, which is when the harness does."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._report.socket, select.POLLIN)
        for number in itertools.count(1):
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._report.socket.fileno() in ready:
                return
            caller, _ = self._listener.accept()
            plugin = self._reach_plugin(caller)
            if plugin is None:
                caller.close()
            else:
                Connection(number, caller, plugin, self._report).start()

    def _reach_plugin(self, caller: socket.socket) -> socket.socket | None:
        """A connection to the plugin; None when it does not listen and the caller should know at once.

        A plugin that has never listened yet is waited for as long as the caller waits: agents look for the
        socket once as the task starts, and then not for seconds.
        """
        deadline = time.monotonic() + FIRST_CONTACT
        while True:
            plugin = socket.socket(socket.AF_UNIX)
            try:
                plugin.connect(self._plugin)
            except OSError:
                plugin.close()
                if self._met or time.monotonic() > deadline or _hangs_up(caller, within=LOOK_EVERY):
                    return None
            else:
                self._met = True
                return plugin


def _peer(caller: socket.socket) -> int:
    """The pid of the process that connected, as the tap's node sees it (unix(7), SO_PEERCRED)."""
    credentials = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", credentials)[0]
    return pid


def _hangs_up(caller: socket.socket, within: float) -> bool:
    """Whether a caller closes its end within so many seconds."""
    poll = select.poll()
    poll.register(caller, select.POLLHUP | select.POLLRDHUP)
    return bool(poll.poll(within * 1000))


def main() -> None:
    """Run a tap."""
    parser = argparse.ArgumentParser(prog="stormpool.tap.proxy")
    parser.add_argument("--listen", required=True, help="the socket callers know")
    parser.add_argument("--plugin", required=True, help="the socket the plugin serves")
    parser.add_argument("--report", required=True, help="the collector's socket")
    parser.add_argument("--hello", required=True, help="what to tell the collector first, JSON")
    asked = parser.parse_args()
    Tap(asked.listen, asked.plugin, Report(asked.report, asked.hello)).serve()


if __name__ == "__main__":
    main()
