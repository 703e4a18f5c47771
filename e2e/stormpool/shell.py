"""The one door for commands on this host: argv lists, never a shell string; an error carries all it said."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stormpool.errors import CommandFailed, TimedOut


@dataclass(frozen=True)
class Completed:
    """What a command that has ended said."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str


def run(
    argv: Sequence[str],
    *,
    where: str = "this host",
    input: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    check: bool = True,
) -> Completed:
    """Run a command to its end.

    `timeout` is in seconds. Raises `CommandFailed` when it ends with another code than 0 and `check` is
    set, `TimedOut` when it does not end (it is killed then).
    """
    try:
        done = subprocess.run(
            list(argv),
            input=input,
            env=dict(env) if env is not None else None,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        raise TimedOut(f"{where}: `{' '.join(argv)}` did not end within {timeout:g} s") from expired
    except FileNotFoundError as missing:
        raise CommandFailed(where, argv, 127, "", f"{argv[0]}: not found") from missing
    if check and done.returncode != 0:
        raise CommandFailed(where, argv, done.returncode, done.stdout, done.stderr)
    return Completed(tuple(argv), done.returncode, done.stdout, done.stderr)


def follow(
    argv: Sequence[str],
    tell: Callable[[str], object],
    *,
    where: str = "this host",
    directory: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a command that takes its time to its end; `tell` is called with each line of its standard error.

    Returns what it wrote to standard output: a line or two, for it is read last. Raises `CommandFailed` when
    it ends with another code than 0.
    """
    said: list[str] = []
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, cwd=directory, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        for line in process.stderr or ():
            said.append(line.strip())
            tell(said[-1])
        written = process.stdout.read() if process.stdout else ""
    if process.returncode != 0:
        raise CommandFailed(where, argv, process.returncode, written, "\n".join(said))
    return written


@contextmanager
def bounded(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """Kill a process that is not left within so many seconds: whoever waits for it waits no longer."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
