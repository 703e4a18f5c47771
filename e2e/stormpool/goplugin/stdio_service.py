"""What a plugin prints goes to its agent (go-plugin, internal/plugin/grpc_stdio.proto)."""

from __future__ import annotations

import io
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import grpc

from stormpool.goplugin.calls import over_when_gone
from stormpool.goplugin.protos import stdio, stdio_rpc

MOST_KEPT = 1000  # writes kept for an agent that does not listen yet


class Writer(io.TextIOBase):
    """Standard output, once the plugin is up."""

    def __init__(self) -> None:
        self._written: deque[bytes] = deque()
        self._changed = threading.Condition()

    def writable(self) -> bool:
        """It can be."""
        return True

    def write(self, text: str) -> int:
        """Have it told; lost where nobody has listened for long."""
        with self._changed:
            if len(self._written) < MOST_KEPT:
                self._written.append(text.encode())
            self._changed.notify_all()
        return len(text)

    def wake(self) -> None:
        """Have everyone who waits for a write look whether he is still listened to."""
        with self._changed:
            self._changed.notify_all()

    def next(self, over: threading.Event) -> bytes | None:
        """The next write, waited for; None once it is over: what is written then is for who listens still."""
        with self._changed:
            self._changed.wait_for(lambda: over.is_set() or self._written)
            return None if over.is_set() else self._written.popleft()


class StdioService(stdio_rpc.GRPCStdioServicer):  # type: ignore[misc,name-defined]
    """Tells what is written to `writer`, each write to one who asked."""

    def __init__(self) -> None:
        self.writer = Writer()

    def StreamStdio(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """All that is printed, until nobody listens: waited for at once, as a plugin ends no sooner."""
        over = over_when_gone(context)
        if not context.add_callback(self.writer.wake):
            return
        while (said := self.writer.next(over)) is not None:
            yield stdio.StdioData(channel=stdio.StdioData.STDOUT, data=said)
