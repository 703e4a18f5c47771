"""The tap itself: a process on a plugin's socket that forwards every byte and tells the collector of it.

    python -m stormpool.tap.proxy --listen SOCKET --plugin SOCKET --report SOCKET --hello JSON

A connection is a splice: it forwards first and tells after, and parses nothing. Once the harness wants calls
of some methods held, callers are made to connect anew, and get a relay. The plugin need not know of either.
"""

from __future__ import annotations

import argparse
import itertools
import select
import socket
import struct
import time
from pathlib import Path
from typing import Any

from stormpool.goplugin.handshake import Address
from stormpool.tap.joined import Joined
from stormpool.tap.report import Report
from stormpool.tap.splice import Splice

FIRST_CONTACT = 20.0  # seconds that a plugin which has never listened may take to
LOOK_EVERY = 0.005  # seconds between two looks for it
REJOIN_EVERY = 0.1  # seconds between two tries to find the collector again
BACKLOG = 128


class Tap:
    """Accepts callers and joins each to the plugin."""

    def __init__(self, listen: str, plugin: Address, report: Report) -> None:
        self._plugin = plugin
        self._report = report
        self._met = False  # the plugin has listened at least once
        self._watched: frozenset[str] = frozenset()  # methods whose calls are held
        self._streams: frozenset[str] = frozenset()  # methods that answer with any number of messages
        self._uploads: frozenset[str] = frozenset()  # methods that ask with any number of messages
        self._connections: dict[int, Joined] = {}
        Path(listen).parent.mkdir(parents=True, exist_ok=True)
        Path(listen).unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(listen)
        self._listener.listen(BACKLOG)

    def serve(self) -> None:
        """Accept callers until the collector goes away, which is when the harness does.

        Who is connected stays so, as far as this process lives on: no call is held any more.
        """
        try:
            self._serve()
        finally:
            self._listener.close()
            self._watched = frozenset()
            for connection in self._connections.values():
                connection.let_go()

    def _serve(self) -> None:
        numbers = itertools.count(1)
        while True:
            ready = self._ready()
            if self._listener in ready:
                self._accept(next(numbers))
            if self._report.parted:
                self._report.rejoin()
            elif self._report.socket in ready:
                orders = self._report.orders()
                if orders is None:
                    return
                for order in orders:
                    self._obey(order)

    def _ready(self) -> list[socket.socket]:
        """What there is to read from, waited for; not for long where the collector is to be found again."""
        if self._report.parted:
            return select.select([self._listener], [], [], REJOIN_EVERY)[0]
        return select.select([self._listener, self._report.socket], [], [])[0]

    def _accept(self, number: int) -> None:
        caller, _ = self._listener.accept()
        plugin = self._reach_plugin(caller)
        if plugin is None:
            caller.close()
            return
        joined = self._join(number, caller, plugin)
        self._keep(number, joined)
        joined.start(_peer(caller))

    def _keep(self, number: int, joined: Joined) -> None:
        """Remember a connection, and forget those that have ended; all of it on the thread that serves."""
        for ended in [number for number, each in self._connections.items() if each.over]:
            del self._connections[ended]
        self._connections[number] = joined

    def _join(self, number: int, caller: socket.socket, plugin: socket.socket) -> Joined:
        if not self._watched:
            return Splice(number, caller, plugin, self._report)
        # They bring a parser that most taps never need.
        from stormpool.tap.holding import Holding  # noqa: PLC0415
        from stormpool.tap.relay import Relay  # noqa: PLC0415

        relay = Relay(
            lambda path: path.rpartition("/")[2] in self._watched,
            lambda path: path.rpartition("/")[2] in self._streams,
            lambda path: path.rpartition("/")[2] in self._uploads,
        )
        return Holding(number, caller, plugin, self._report, relay)

    def _obey(self, order: dict[str, Any]) -> None:
        """Hold other methods from now on, part from the collector, or do with a held call as told."""
        if "part" in order:
            self._report.part()
            return
        if "watch" in order:
            self._watched, self._streams, self._uploads = (
                frozenset(order[each]) for each in ("watch", "streams", "uploads")
            )
            if self._watched:
                for connection in self._connections.values():
                    connection.retire()
            return
        about = self._connections.get(order["connection"])
        if about is not None:
            about.obey(order)

    def _reach_plugin(self, caller: socket.socket) -> socket.socket | None:
        """A connection to the plugin; None when it does not listen and the caller should know at once.

        A plugin that has never listened yet is waited for as long as the caller waits: agents look for the
        socket once as the task starts, and then not for seconds.
        """
        deadline = time.monotonic() + FIRST_CONTACT
        while True:
            try:
                plugin = _connect(self._plugin)
            except OSError:
                if self._met or time.monotonic() > deadline or _hangs_up(caller, within=LOOK_EVERY):
                    return None
            else:
                self._met = True
                return plugin


def _connect(address: Address) -> socket.socket:
    """A connection to what listens somewhere. Raises `OSError` when nothing does."""
    if not isinstance(address, str):
        made = socket.create_connection(address)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a call is not to wait for the next one
        return made
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(address)
    except OSError:
        made.close()
        raise
    return made


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
