"""Unix sockets by short paths: a path of one ends at 107 bytes (unix(7)), a run's directory may be longer."""

from __future__ import annotations

import os
from pathlib import Path


class ShortPaths:
    """Paths to the files of one directory that stay short whatever the directory's own is."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def to(self, name: str) -> str:
        """A path to one file, good in this process until `close`."""
        return f"/proc/self/fd/{self._descriptor}/{name}"

    def close(self) -> None:
        """Let the directory go."""
        os.close(self._descriptor)
