"""A process of the harness on a node, for as long as a fault lasts, or but for it: it keeps directories open,
stops and continues another process again and again, or forwards a socket.

Runs on the node, with nothing but Python's standard library:

    python companion.py begin NAME occupy DIRECTORY...
    python companion.py begin NAME stutter PID STOPPED RUNNING      seconds, in turns
    python companion.py begin NAME forward SOCKET PORT              from a unix socket to one on the loopback
    python companion.py end NAME

`begin` returns once it is at it, and fails when there is one of that name; `end` once it is gone, and at once
when there is none. It holds a lock on the file that has its pid: only a process that lives is ever signalled.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

HOME = Path("/run/stormpool")
END = {signal.SIGTERM}


def begin(name: str, doing: str, *words: str) -> None:
    """Start one in the background. What it cannot do is said by this process, which then fails."""
    HOME.mkdir(exist_ok=True)
    file = os.open(HOME / name, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the child keeps it
    act = DOING[doing](*words)
    signal.pthread_sigmask(signal.SIG_BLOCK, END)
    child = os.fork()
    if child != 0:
        os.ftruncate(file, 0)
        os.pwrite(file, str(child).encode(), 0)
        return
    os.setsid()
    _close_standard()
    act()


def occupy(*directories: str) -> Callable[[], object]:
    """Keep directories open until told to end."""
    for directory in directories:
        os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    return partial(signal.sigwait, END)


def stutter(pid: str, stopped: str, running: str) -> Callable[[], object]:
    """Stop and continue a process in turns, until told to end or it is gone."""

    def act() -> None:
        told = False
        while not told:
            os.kill(int(pid), signal.SIGSTOP)
            told = signal.sigtimedwait(END, float(stopped)) is not None
            os.kill(int(pid), signal.SIGCONT)
            told = told or signal.sigtimedwait(END, float(running)) is not None

    return act


def forward(path: str, port: str) -> Callable[[], object]:
    """Join whoever connects to a unix socket with a port of the loopback, until told to end."""
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def act() -> None:
        threading.Thread(target=accept, args=(listener, int(port)), daemon=True).start()
        signal.sigwait(END)

    return act


def accept(listener: socket.socket, port: int) -> None:
    """Take callers, each with a connection of his own to the port; hang up where nobody listens there."""
    while True:
        caller, _ = listener.accept()
        try:
            callee = socket.create_connection(("127.0.0.1", port))
        except OSError:
            caller.close()
            continue
        for one, other in ((caller, callee), (callee, caller)):
            threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Pass on what one says to the other until either is gone."""
    with contextlib.suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)


def end(name: str) -> None:
    """End one, and wait until it is gone."""
    try:
        file = os.open(HOME / name, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.kill(int(os.pread(file, 16, 0)), signal.SIGTERM)
        fcntl.flock(file, fcntl.LOCK_EX)


def _close_standard() -> None:
    """Whoever started it waits for nothing more of it."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)


DOING: dict[str, Callable[..., Callable[[], object]]] = {
    "occupy": occupy,
    "stutter": stutter,
    "forward": forward,
}

if __name__ == "__main__":
    (begin if sys.argv[1] == "begin" else end)(*sys.argv[2:])
