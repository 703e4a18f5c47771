"""What a plugin prints goes to whoever listens still."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stormpool.goplugin.stdio_service import MOST_KEPT, StdioService, Writer
from stormpool.wait import wait_until

PATIENCE = 10.0  # seconds until a test gives up


class Listener:
    """A call of the stream, as gRPC gives it to the service."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def add_callback(self, callback: Callable[[], None]) -> bool:
        self._callbacks.append(callback)
        return True

    def cancel(self) -> None:
        for each in self._callbacks:
            each()


def test_a_line_is_not_lost_to_a_listener_that_has_gone() -> None:
    service, gone, stays = StdioService(), Listener(), Listener()
    with ThreadPoolExecutor(2) as threads:
        waits = threading.active_count()
        first = threads.submit(next, service.StreamStdio(None, _as_context(gone)), None)
        second = threads.submit(next, service.StreamStdio(None, _as_context(stays)), None)
        wait_until("both wait", threading.active_count, lambda count: count == waits + 2, timeout=PATIENCE)
        gone.cancel()
        assert first.result(PATIENCE) is None
        service.writer.write("hello")
        said = second.result(PATIENCE)
        assert said is not None
        assert said.data == b"hello"


def test_what_is_written_once_a_listener_has_gone_is_for_the_next() -> None:
    writer, over = Writer(), threading.Event()
    over.set()
    writer.write("hello")
    assert writer.next(over) is None
    assert writer.next(threading.Event()) == b"hello"


def test_what_nobody_listens_to_is_kept_for_a_while() -> None:
    writer = Writer()
    for number in range(MOST_KEPT + 1):
        writer.write(str(number))
    heard = [writer.next(threading.Event()) for _ in range(MOST_KEPT)]
    assert heard == [str(number).encode() for number in range(MOST_KEPT)]


def _as_context(listener: Listener) -> Any:
    return listener
