"""What the kernel will not undo for us, written down before it is made.

One file a lab, in the user's state directory: who started it, its init, its cgroups, its run directory,
and for a lab that is up how to get at its nodes. A lab that ends in order removes its file; `stormpool down`
reads what is left and undoes it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from stormpool import processes
from stormpool.providers import cgroups

Identity = tuple[int, int]  # pid and start time, for pids are used again


def state_home() -> Path:
    """Where Stormpool keeps what must outlive a harness (XDG base directory specification)."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "stormpool"


class Written(msgspec.Struct):
    """One lab's file."""

    lab_id: str
    run_dir: str
    harness: Identity
    init: Identity | None = None
    cgroups: list[str] = []
    kept: bool = False  # by `stormpool up`, until `down`
    nomad: str = ""
    nodes: dict[str, list[str]] = {}  # node → the argv that enters it
    by_line: bool = False  # whether that takes a command as one line for a shell, as ssh does, not as words
    addresses: dict[str, str] = {}  # node → the URL of its agent's API on this host


def same(identity: Identity | None) -> bool:
    """Whether that very process is still there."""
    return identity is not None and processes.started(identity[0]) == identity[1]


def identity(pid: int) -> Identity:
    """A process's identity."""
    return pid, processes.started(pid) or 0


class Entry:
    """The ledger's entry of one lab."""

    def __init__(self, lab_id: str, run_dir: Path) -> None:
        self.lab_id = lab_id
        self._written = Written(lab_id, str(run_dir), identity(os.getpid()))

    @classmethod
    def of(cls, written: Written) -> Entry:
        """The entry of a lab somebody else has written down."""
        entry = cls(written.lab_id, Path(written.run_dir))
        entry._written = written
        return entry

    @property
    def init(self) -> int | None:
        """The lab's init, as this host sees it."""
        return self._written.init[0] if self._written.init else None

    @property
    def written(self) -> Written:
        """All that is written down."""
        return self._written

    def write(self, **changes: object) -> None:
        """Write down what is about to be made, or has come up."""
        self._written = msgspec.structs.replace(self._written, **changes)
        path = _file(self.lab_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".new")
        draft.write_bytes(msgspec.json.encode(self._written))
        draft.replace(path)

    def undo(self) -> None:
        """Remove the cgroups and the entry; the lab's processes must have ended."""
        cgroups.remove(self._written.cgroups)
        _file(self.lab_id).unlink(missing_ok=True)

    def left_behind(self) -> list[str]:
        """What this host still shows of the lab."""
        left = [f"cgroup {path}" for path in self._written.cgroups if Path(path).exists()]
        return [*left, f"process {self.init}"] if same(self._written.init) else left


def labs() -> list[Written]:
    """Every lab that is written down: those that are up, and those a dead harness has left."""
    found = sorted((state_home() / "labs").glob("*.json"))
    return [msgspec.json.decode(path.read_bytes(), type=Written) for path in found]


def _file(lab_id: str) -> Path:
    return state_home() / "labs" / f"{lab_id}.json"
