"""What a plugin prints goes to whoever listens still."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

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


@pytest.mark.parametrize("who", [0, 1])
def test_a_line_is_not_lost_to_a_listener_that_has_gone(who: int) -> None:
    service, listeners, before = StdioService(), (Listener(), Listener()), threading.active_count()
    with ThreadPoolExecutor(2) as threads:
        heard = []
        for number, each in enumerate(listeners, 1):
            heard.append(threads.submit(next, service.StreamStdio(None, _as_context(each)), None))
            wait_until("it waits", lambda: threading.active_count() - before, number.__eq__, timeout=PATIENCE)
        listeners[who].cancel()
        gone, stays = heard[who], heard[1 - who]
        wait([gone], PATIENCE)
        service.writer.write("hello")
        assert gone.result(PATIENCE) is None
        said = stays.result(PATIENCE)
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
