"""A process in a node, as the host sees it."""

from __future__ import annotations

import signal
import subprocess

from stormpool import processes
from stormpool.errors import TimedOut


class NamespaceProcess:
    """A process in a node: the host sees it below an `nsenter` that waits for it."""

    def __init__(self, name: str, entered: subprocess.Popen[bytes]) -> None:
        self.name = name
        self._entered = entered
        self.pid = processes.only_child(entered.pid, lambda: entered.poll() is None)

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.code() is None

    def code(self) -> int | None:
        """Its exit code once it has ended (negative: the signal that ended it)."""
        return self._entered.poll()

    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended."""
        if not self.alive():
            return
        processes.signal(self.pid, number)
        if number == signal.SIGCONT:
            # nsenter stops itself along with its child, and would never tell of the child's end.
            processes.signal(self._entered.pid, number)

    def wait(self, timeout: float) -> int:
        """Wait until it ends and return its exit code."""
        try:
            return self._entered.wait(timeout)
        except subprocess.TimeoutExpired as expired:
            raise TimedOut(f"process {self.name} did not end within {timeout:g} s") from expired
