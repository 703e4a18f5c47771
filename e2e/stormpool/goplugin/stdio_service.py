"""What a plugin prints goes to its agent (go-plugin, internal/plugin/grpc_stdio.proto)."""

from __future__ import annotations

import io
import queue
from collections.abc import Iterator
from typing import Any

import grpc

from stormpool.goplugin.calls import over_when_gone
from stormpool.goplugin.protos import stdio, stdio_rpc

MOST_KEPT = 1000  # writes kept for an agent that does not listen yet
NOBODY_LISTENS = b""  # what no write is


class Writer(io.TextIOBase):
    """Standard output, once the plugin is up."""

    def __init__(self, written: queue.Queue[bytes]) -> None:
        self._written = written

    def writable(self) -> bool:
        """It can be."""
        return True

    def write(self, text: str) -> int:
        """Have it told; lost where nobody has listened for long."""
        if not self._written.full():
            self._written.put_nowait(text.encode())
        return len(text)

    def wake(self) -> None:
        """Have whoever waits for a write look whether he is still listened to."""
        if not self._written.full():  # nobody waits for what is there
            self._written.put_nowait(NOBODY_LISTENS)


class StdioService(stdio_rpc.GRPCStdioServicer):  # type: ignore[misc,name-defined]
    """Tells what is written to `writer`, to the one who asked first."""

    def __init__(self) -> None:
        self._written: queue.Queue[bytes] = queue.Queue(MOST_KEPT)
        self.writer = Writer(self._written)

    def StreamStdio(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """All that is printed, until nobody listens: waited for at once, as a plugin ends no sooner."""
        over = over_when_gone(context)
        if not context.add_callback(self.writer.wake):
            return
        while not over.is_set():
            said = self._written.get()
            if said != NOBODY_LISTENS:
                yield stdio.StdioData(channel=stdio.StdioData.STDOUT, data=said)
