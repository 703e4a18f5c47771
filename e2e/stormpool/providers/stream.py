"""A command in a node that tells a line at a time."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable

from stormpool.providers.pipes import close, pipe

STOP_TIMEOUT = 30.0  # seconds that a command may take to tell its last line


class PipedStream:
    """A command in a node that tells a line at a time, until its standard input closes."""

    def __init__(
        self,
        entered: subprocess.Popen[bytes],
        on_line: Callable[[str], None],
        ended: Callable[[subprocess.Popen[bytes]], None],
    ) -> None:
        self._entered = entered
        self._ended = ended
        self._thread = threading.Thread(target=self._read, args=(on_line,), name="stream", daemon=True)
        self._thread.start()

    def _read(self, on_line: Callable[[str], None]) -> None:
        for line in pipe(self._entered, "stdout"):
            on_line(line.decode(errors="replace"))

    def stop(self) -> int:
        """Close its standard input, and return how it ended once it has told its last line."""
        with contextlib.suppress(BrokenPipeError):
            pipe(self._entered, "stdin").close()
        self._thread.join(STOP_TIMEOUT)
        if self._thread.is_alive():
            self._entered.kill()
            self._thread.join()
        code = self._entered.wait(STOP_TIMEOUT)
        close(self._entered)
        self._ended(self._entered)
        return code
