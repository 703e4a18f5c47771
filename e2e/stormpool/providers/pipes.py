"""What the harness and the inits of its namespaces say to each other."""

from __future__ import annotations

import contextlib
import subprocess
from typing import IO

from stormpool.errors import MachineError


def pipe(process: subprocess.Popen[bytes], which: str) -> IO[bytes]:
    """One of a process's standard streams."""
    stream: IO[bytes] | None = getattr(process, which)
    if stream is None:
        raise MachineError(f"{which} of a namespace's init is closed")
    return stream


def expect(init: subprocess.Popen[bytes], word: str, what: str) -> None:
    """Read the next line, which must be `word`. Raises `MachineError` with what it said instead."""
    said = pipe(init, "stdout").readline().decode().strip()
    if said != word:
        init.kill()
        error = pipe(init, "stderr").read().decode(errors="replace").strip()
        raise MachineError(f"{what} did not come up: {error or said or 'it ended'}")


def say(init: subprocess.Popen[bytes], text: str) -> None:
    """Write to its standard input."""
    stream = pipe(init, "stdin")
    stream.write(text.encode())
    stream.flush()


def close(process: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which tells it to end; what it said last is not read."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # what was not yet read of us is of no use now
                stream.close()
