"""A companion that forwards joins two sockets, and ends a caller whom nobody answers."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stormpool import companion


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        yield server


def door(path: Path, port: int) -> socket.socket:
    """A caller of a socket that is forwarded to a port."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    threading.Thread(target=companion.accept, args=(listener, port), daemon=True).start()
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(10)
    caller.connect(str(path))
    return caller


def test_what_either_says_the_other_hears(tmp_path: Path, listening: socket.socket) -> None:
    with door(tmp_path / "door", listening.getsockname()[1]) as caller:
        callee, _ = listening.accept()
        with callee:
            caller.sendall(b"asked")
            assert callee.recv(100) == b"asked"
            callee.sendall(b"answered")
            assert caller.recv(100) == b"answered"
            callee.shutdown(socket.SHUT_RDWR)
            assert caller.recv(100) == b""


def test_a_caller_whom_nobody_answers_is_hung_up_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with door(tmp_path / "door", port) as caller:
        assert caller.recv(100) == b""
