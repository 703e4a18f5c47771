"""A caller and a plugin joined by a relay: calls of some methods stop, and go on as the harness says."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterable
from typing import Any

from stormpool.tap.frames import NotHttp2, Side
from stormpool.tap.joined import Joined
from stormpool.tap.outputs import Answered, Asked, GivenUp, Output, Send, Streamed
from stormpool.tap.relay import Relay
from stormpool.tap.report import Report
from stormpool.tap.wire import ANSWERED, ASKED, GIVEN_UP, SENT, STREAMED, TOLD

CHUNK = 1 << 16  # bytes read at once


class Holding(Joined):
    """A connection whose calls can be held."""

    def __init__(
        self,
        number: int,
        caller: socket.socket,
        plugin: socket.socket,
        report: Report,
        relay: Relay,
    ) -> None:
        super().__init__(number, caller, plugin, report)
        self._ends = {Side.CALLER: caller, Side.PLUGIN: plugin}
        self._relay = relay
        self._lock = threading.RLock()

    def retire(self) -> None:
        """Nothing: which methods are held is asked anew at each call."""

    def obey(self, order: dict[str, Any]) -> None:
        """Carry out what the harness says becomes of a call."""
        stream, relay, at = int(order["stream"]), self._relay, time.monotonic_ns()
        with self._lock, contextlib.suppress(OSError):
            match order["do"]:
                case "forward":
                    self._carry_out(relay.forward(stream), at)
                    self._step(SENT, stream, time.monotonic_ns())
                case "copy":
                    self._carry_out(relay.copy(stream), at)
                case "tell":
                    self._carry_out(relay.tell(stream), at)
                    self._step(TOLD, stream, time.monotonic_ns())
                case "refuse":
                    code, message = int(order["code"]), str(order["message"])
                    self._carry_out(relay.refuse(stream, code, message), at)
                    self._step(ANSWERED, stream, at, code=code, message=message, by="tap")
                    self._step(TOLD, stream, time.monotonic_ns())
                case "reset":
                    self._carry_out(relay.reset(stream), at)
                    self._step(GIVEN_UP, stream, at, by="tap")
                case "cut":
                    self._end("tap")

    def let_go(self) -> None:
        """Every call that is held goes on, to its end."""
        with self._lock, contextlib.suppress(OSError):
            self._carry_out(self._relay.let_go(), time.monotonic_ns())

    def _from_caller(self) -> None:
        self._read(Side.CALLER)

    def _from_plugin(self) -> None:
        self._read(Side.PLUGIN)

    def _read(self, side: Side) -> None:
        with contextlib.suppress(OSError, NotHttp2):
            while data := self._ends[side].recv(CHUNK):
                # Before it is sent on: what hears it must not be seen to act before it was there.
                at = time.monotonic_ns()
                with self._lock:
                    self._carry_out(self._relay.feed(side, data), at)
        self._end(side.name.lower())

    def _carry_out(self, outputs: Iterable[Output], at: int) -> None:
        """Send what is to be sent, and tell of what was read at a time."""
        for output in outputs:
            match output:
                case Send(to, data):
                    self._ends[to].sendall(data)
                case Asked(stream, path, body, held):
                    self._step(ASKED, stream, at, body, path=path, held=held)
                    if not held:
                        self._step(SENT, stream, time.monotonic_ns())
                case Answered(stream, code, message, body, held):
                    self._step(ANSWERED, stream, at, body, code=code, message=message, held=held, by="plugin")
                    if not held:
                        self._step(TOLD, stream, time.monotonic_ns())
                case Streamed(stream, body, held):
                    self._step(STREAMED, stream, at, body, held=held)
                case GivenUp(stream, side):
                    self._step(GIVEN_UP, stream, at, by=side.name.lower())

    def _step(self, kind: int, stream: int, at: int, body: bytes = b"", **said: object) -> None:
        line = json.dumps({"stream": stream, **said}).encode()
        number = next(self._report.number)
        self._report.tell(number, self._number, kind, at, line + b"\n" + body)

    def _end(self, who: str) -> None:
        with self._lock:  # what is being carried out is told of before
            super()._end(who)
