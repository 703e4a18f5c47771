"""Forwards from this host's loopback to unix sockets, by threads of this process: they end when it does."""

from __future__ import annotations

import contextlib
import socket
import threading


def to_unix_socket(path: str) -> int:
    """Listen on a free port of 127.0.0.1 for as long as this process lives, and return it."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(listener, path), name="forward", daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


def _accept(listener: socket.socket, path: str) -> None:
    while True:
        caller, _ = listener.accept()
        target = socket.socket(socket.AF_UNIX)
        try:
            target.connect(path)
        except OSError:
            caller.close()
            continue
        for source, sink in ((caller, target), (target, caller)):
            threading.Thread(target=_splice, args=(source, sink), name="forward", daemon=True).start()


def _splice(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
