"""A node as the kernel shows it at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec


class Seen(msgspec.Struct, frozen=True):
    """A process of the node; `alloc`: what allocation it is of, by its environment, argv or open files."""

    pid: int
    parent: int
    started: int
    argv: tuple[str, ...]
    alloc: str
    threads: int
    files: int  # how many it has open
    open: tuple[str, ...]  # device and number of each
    first: bool  # of a pid namespace

    @property
    def who(self) -> tuple[int, int]:
        """Its identity: pids come again."""
        return self.pid, self.started

    def __str__(self) -> str:
        return f"{self.pid} ({' '.join(' '.join(self.argv).split())[:80]})"


class Look(msgspec.Struct, frozen=True):
    """What is on a node."""

    processes: tuple[Seen, ...]
    mounts: tuple[str, ...]  # mount points, as often as something is mounted there
    temporary: tuple[str, ...]  # names in the directory that plugins have for temporary files

    def process(self, pid: int) -> Seen | None:
        """The process of that pid."""
        return next((each for each in self.processes if each.pid == pid), None)

    def of(self, alloc: str) -> tuple[Seen, ...]:
        """The processes of an allocation."""
        return tuple(each for each in self.processes if each.alloc == alloc)

    def below(self, pid: int) -> tuple[Seen, ...]:
        """A process with all that it started, in turn."""
        found = {pid}
        for _ in range(len(self.processes)):
            more = {each.pid for each in self.processes if each.parent in found} - found
            if not more:
                break
            found |= more
        return tuple(each for each in self.processes if each.pid in found)

    def new(self, before: Look) -> tuple[Seen, ...]:
        """The processes that were not there before."""
        known = {each.who for each in before.processes}
        return tuple(each for each in self.processes if each.who not in known)

    def mounted(self, before: Look) -> list[str]:
        """What is mounted now and was not before."""
        return list((Counter(self.mounts) - Counter(before.mounts)).elements())


def told(processes: Iterable[Seen]) -> str:
    """Processes in one line."""
    return ", ".join(map(str, processes))
