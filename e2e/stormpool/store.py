"""A run's directory: what was asked for, what happened, what was judged; enough to judge it again."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from stormpool.errors import Misuse
from stormpool.events import Event, Phase
from stormpool.history import History, encode
from stormpool.run import About, Judged
from stormpool.verdict import Verdict, worst


class RunDirectory:
    """One run's directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.history = path / "history.jsonl"
        self.logs = path / "logs"
        self.report = path / "report.html"
        self.script = path / "script.json"
        self._about = path / "run.json"
        self._judged = path / "verdict.json"

    @classmethod
    def create(cls, out: Path, name: str) -> RunDirectory:
        """Make a new one under `out`, named for when and what."""
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        path = (out / f"{stamp}-{name}").absolute()
        directory = cls(path)
        directory.logs.mkdir(parents=True)
        return directory

    @classmethod
    def existing(cls, path: Path) -> RunDirectory:
        """One that is there. Raises `Misuse` when it is no run."""
        directory = cls(path.absolute())
        if not directory._about.exists() or not directory.history.exists():
            raise Misuse(
                f"{path} is no run: it has no run.json with a history.jsonl",
                fix="give the directory that `stormpool run` printed as `run`",
            )
        return directory

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path)

    def write_about(self, about: About) -> None:
        """Write what was asked for."""
        self._about.write_bytes(msgspec.json.format(msgspec.json.encode(about)))

    def about(self) -> About:
        """Read what was asked for."""
        try:
            return msgspec.json.decode(self._about.read_bytes(), type=About)
        except msgspec.DecodeError as error:
            raise Misuse(f"{self._about} cannot be read: {error}", fix="restore it from the run") from error

    def read_script(self) -> bytes:
        """Read what was done to its lab. Raises `Misuse` for a run that ended before that was known."""
        if not self.script.exists():
            raise Misuse(f"{self.path} has no script: it ended before its lab was up", fix="give another run")
        return self.script.read_bytes()

    def write_verdicts(self, verdicts: list[Verdict]) -> Judged:
        """Write what was judged."""
        judged = Judged(worst(verdict.outcome for verdict in verdicts), verdicts)
        self._judged.write_bytes(msgspec.json.format(msgspec.json.encode(judged)))
        return judged

    def judged(self) -> Judged | None:
        """Read what was judged; None when nothing was."""
        if not self._judged.exists():
            return None
        return msgspec.json.decode(self._judged.read_bytes(), type=Judged)

    def read_verdicts(self) -> list[Verdict]:
        """Read what was judged; nothing when nothing was."""
        judged = self.judged()
        return judged.verdicts if judged else []

    def read_history(self) -> History:
        """Read what happened."""
        return History.decode(self.history.read_bytes(), str(self.history))


class Recorder:
    """Writes a run's history as it happens; safe to use from several threads."""

    def __init__(self, file: Path, on_phase: Callable[[str], None] = lambda _: None) -> None:
        self.on_phase = on_phase
        self._lock = threading.Lock()
        self._open = False
        self.turn_to(file)

    def turn_to(self, file: Path) -> None:
        """Begin another history: its time counts from now."""
        self.close()
        with self._lock:
            self.zero = time.monotonic_ns()
            self.zero_wall = time.time_ns()
            self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._open = True

    def now(self) -> int:
        """Nanoseconds since the run began."""
        return time.monotonic_ns() - self.zero

    def write(self, event: Event) -> None:
        """Append an event; what comes after `close` is dropped."""
        line = encode(event)
        with self._lock:
            if self._open:
                os.write(self._file, line)

    def phase(self, name: str) -> None:
        """The run enters a phase."""
        self.write(Phase(t=self.now(), name=name))
        self.on_phase(name)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._file)
