"""HTTP over unix sockets: the network below httpcore's connections.

httpcore can do so by itself, and forgets to close a socket that could not be connected: in a lab whose nodes
crash that is a warning a second.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable
from typing import Any

import httpcore


class UnixSocket(httpcore.NetworkStream):
    """One connected socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what there is, within `timeout` seconds."""
        try:
            self._socket.settimeout(timeout)
            return self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(buffer)
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:
        """Whether the other end has closed an idle connection (`is_readable`); nothing else is known."""
        if info == "is_readable":
            return self._socket.fileno() < 0 or bool(select.select([self._socket], [], [], 0)[0])
        return None


class UnixSockets(httpcore.NetworkBackend):
    """Connects them."""

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        """Connect to the socket at a path."""
        made = socket.socket(socket.AF_UNIX)
        try:
            for option in socket_options or ():
                made.setsockopt(*option)
            made.settimeout(timeout)
            made.connect(path)
        except OSError as error:
            made.close()
            raise httpcore.ConnectError(f"{path}: {error}") from error
        return UnixSocket(made)
