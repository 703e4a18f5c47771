"""A process of the harness on a node, for as long as a fault lasts: it keeps directories open, or stops and
continues another process again and again.

Runs on the node, with nothing but Python's standard library:

    python companion.py begin NAME occupy DIRECTORY...
    python companion.py begin NAME stutter PID STOPPED RUNNING      seconds, in turns
    python companion.py end NAME

`begin` returns once it is at it; `end` once it is gone, and at once when there is none. It holds a lock on
the file that has its pid: only a process that lives is ever signalled.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
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
    act = (occupy if doing == "occupy" else stutter)(*words)
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


if __name__ == "__main__":
    (begin if sys.argv[1] == "begin" else end)(*sys.argv[2:])
