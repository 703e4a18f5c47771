"""What a plugin says in a stream, kept as it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import grpc

from stormpool.errors import MachineError
from stormpool.wait import wait_until

Said = TypeVar("Said")
STOPPED_WITHIN = 10.0  # seconds that a stream may take to end once it is cancelled


class Listening(Generic[Said]):
    """Listens to a stream until `stop`, or until the plugin ends it: with `error` then, if with one."""

    def __init__(self, stream: Any, read: Callable[[Any], Said]) -> None:
        self.said: list[Said] = []
        self.error: grpc.RpcError | None = None
        self._stream = stream
        self._read = read
        self._over = threading.Event()
        threading.Thread(target=self._listen, name="listening", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._over.is_set()

    def until(self, what: str, holds: Callable[[Said], bool], timeout: float) -> Said:
        """The first message that `holds`, waited for.

        Raises `TimedOut` after so many seconds, `MachineError` when the stream ended without it.
        """

        def look() -> tuple[list[Said], bool]:
            over = self.over  # before the messages: none comes after
            return [each for each in self.said if holds(each)], over

        found, _ = wait_until(what, look, any, timeout=timeout, every=0.01)
        if not found:
            raise MachineError(f"the stream ended before {what}: {self.error}")
        return found[0]

    def first(self, timeout: float) -> Said:
        """The first message."""
        return self.until("a message came", lambda _: True, timeout)

    def ended(self, timeout: float) -> bool:
        """Whether it ends within so many seconds."""
        return self._over.wait(timeout)

    def stop(self) -> None:
        """Listen no more."""
        self._stream.cancel()
        self._over.wait(STOPPED_WITHIN)

    def _listen(self) -> None:
        try:
            for message in self._stream:
                self.said.append(self._read(message))
        except grpc.RpcError as error:
            self.error = error
        finally:
            self._over.set()
