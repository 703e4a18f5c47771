"""Processes of this host, by pid: children, life, signals. Only processes a lab started are ever touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from stormpool.wait import wait_until


def children(pid: int) -> list[int]:
    """The pids of a process's children, [] when it is gone."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def only_child(pid: int, parent_lives: Callable[[], bool]) -> int:
    """The pid of the one child of a process that forks once, waited for; 0 when the parent ended first."""
    found = wait_until(
        f"process {pid} has its child",
        lambda: children(pid) or ([] if parent_lives() else [0]),
        timeout=10.0,
        every=0.001,
    )
    return found[0]


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with the pid, its identity.

    None when it is gone, or has ended and nobody has asked how (a zombie).
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def signal(pid: int, number: int) -> None:
    """Send a signal; nothing happens when the process is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
