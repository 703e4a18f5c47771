"""One connection of a caller, joined to the plugin: what every way of joining them has."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from typing import Any

from stormpool.tap.report import Report
from stormpool.tap.wire import ENDED, OPENED


class Joined(ABC):
    """Two sockets, a number, and one end for both."""

    def __init__(self, number: int, caller: socket.socket, plugin: socket.socket, report: Report) -> None:
        self._number = number
        self._caller = caller
        self._plugin = plugin
        self._report = report
        self._over = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether an end has closed, and so both have."""
        return self._over.locked()

    def start(self, peer: int) -> None:
        """Carry what comes, both ways, until either end closes."""
        self._report.note(self._number, OPENED, str(peer))
        for carry in (self._from_caller, self._from_plugin):
            threading.Thread(target=carry, daemon=True).start()

    @abstractmethod
    def _from_caller(self) -> None: ...

    @abstractmethod
    def _from_plugin(self) -> None: ...

    @abstractmethod
    def retire(self) -> None:
        """Calls are to be held from now on: make the caller leave where this connection cannot."""

    @abstractmethod
    def obey(self, order: dict[str, Any]) -> None:
        """Carry out what the harness says becomes of a held call."""

    @abstractmethod
    def let_go(self) -> None:
        """Nobody says any more what becomes of held calls: they go on."""

    def _end(self, who: str) -> None:
        """One end has closed: gRPC knows no half-open connections, so both go."""
        if not self._over.acquire(blocking=False):
            return
        self._report.note(self._number, ENDED, who)
        for end in (self._caller, self._plugin):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
