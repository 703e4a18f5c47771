"""For how long tasks could write to which ZFS file system, by what the nodes showed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from stormpool.events import Observed
from stormpool.history import History


@dataclass(frozen=True)
class Hold:
    """A task that certainly could write to a file system for this long: it was seen to, first and last."""

    name: str  # the last of the file system's
    alloc: str
    node: str
    start: int
    end: int


def holds(history: History) -> list[Hold]:
    """Every hold of a file system, from what the observers told whenever it changed."""
    holds: list[Hold] = []
    for node, told in _by_node(history).items():
        going: dict[tuple[str, str], tuple[int, int]] = {}
        for event in told:
            now = {
                (source.rpartition("/")[2], process.alloc)
                for process in event.processes
                for source in process.writes
            }
            for key, (start, last) in list(going.items()):
                # What was told before held until `since`, and longer only if it is told again.
                end = event.t if key in now else max(last, event.since)
                going[key] = (start, end)
                if key not in now:
                    del going[key]
                    holds.append(Hold(key[0], key[1], node, start, end))
            for key in sorted(now):
                going.setdefault(key, (event.t, event.t))
        holds += [Hold(key[0], key[1], node, start, end) for key, (start, end) in going.items()]
    return holds


def _by_node(history: History) -> dict[str, list[Observed]]:
    told: dict[str, list[Observed]] = defaultdict(list)
    for event in history.of(Observed):
        told[event.node].append(event)
    return told


def clashes(held: Iterable[Hold]) -> Iterator[tuple[Hold, Hold]]:
    """Two of different allocations that went on at one time."""
    for one, other in combinations(held, 2):
        if one.alloc != other.alloc and max(one.start, other.start) <= min(one.end, other.end):
            yield one, other
