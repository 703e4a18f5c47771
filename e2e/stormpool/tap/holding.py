"""A caller and a plugin joined by a relay: calls of some methods stop, and go on as the harness says."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from stormpool.tap.frames import NotHttp2, Side
from stormpool.tap.relay import Answered, Asked, GivenUp, Output, Relay, Send
from stormpool.tap.report import Report
from stormpool.tap.wire import ANSWERED, ASKED, ENDED, GIVEN_UP, OPENED, SENT, TOLD

CHUNK = 1 << 16  # bytes read at once


class Holding:
    """One connection of a caller, joined to the plugin by a relay."""

    def __init__(
        self,
        number: int,
        ends: tuple[socket.socket, socket.socket],
        report: Report,
        watched: Callable[[str], bool],
    ) -> None:
        self._number = number
        self._ends = dict(zip(Side, ends, strict=True))
        self._report = report
        self._relay = Relay(watched)
        self._lock = threading.RLock()
        self._over = False

    def start(self, peer: int) -> None:
        """Relay both ways until either end closes."""
        self._report.note(self._number, OPENED, str(peer))
        for side in Side:
            threading.Thread(target=self._read, args=(side,), daemon=True).start()

    def retire(self) -> None:
        """Nothing: which methods are held is asked anew at each call."""

    def obey(self, order: dict[str, Any]) -> None:
        """Carry out what the harness says becomes of a call."""
        stream, relay = int(order["stream"]), self._relay
        with self._lock, contextlib.suppress(OSError):
            match order["do"]:
                case "forward":
                    self._carry_out(relay.forward(stream))
                    self._step(SENT, stream)
                case "copy":
                    self._carry_out(relay.copy(stream))
                case "tell":
                    self._carry_out(relay.tell(stream))
                    self._step(TOLD, stream)
                case "refuse":
                    code, message = int(order["code"]), str(order["message"])
                    self._carry_out(relay.refuse(stream, code, message))
                    self._step(ANSWERED, stream, code=code, message=message, by="tap")
                    self._step(TOLD, stream)
                case "reset":
                    self._carry_out(relay.reset(stream))
                    self._step(GIVEN_UP, stream, by="tap")
                case "cut":
                    self._end("tap")

    def _read(self, side: Side) -> None:
        with contextlib.suppress(OSError, NotHttp2):
            while data := self._ends[side].recv(CHUNK):
                with self._lock:
                    self._carry_out(self._relay.feed(side, data))
        self._end(side.name.lower())

    def _carry_out(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            match output:
                case Send(to, data):
                    self._ends[to].sendall(data)
                case Asked(stream, path, body, held):
                    self._step(ASKED, stream, body, path=path, held=held)
                    if not held:
                        self._step(SENT, stream)
                case Answered(stream, code, message, body, held):
                    self._step(ANSWERED, stream, body, code=code, message=message, held=held, by="plugin")
                    if not held:
                        self._step(TOLD, stream)
                case GivenUp(stream, side):
                    self._step(GIVEN_UP, stream, by=side.name.lower())

    def _step(self, kind: int, stream: int, body: bytes = b"", **said: object) -> None:
        line = json.dumps({"stream": stream, **said}).encode()
        number = next(self._report.number)
        self._report.tell(number, self._number, kind, time.monotonic_ns(), line + b"\n" + body)

    def _end(self, who: str) -> None:
        """One end has closed: gRPC knows no half-open connections, so both go."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._report.note(self._number, ENDED, who)
            for end in self._ends.values():
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
