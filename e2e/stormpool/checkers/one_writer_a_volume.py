"""Who can write to a volume, by the kernel's word (CSI spec, access modes)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

from stormpool.history import History, Observed, Volume
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@dataclass(frozen=True)
class _Hold:
    """A task that certainly could write to a volume for this long: it was seen to, first and last."""

    volume: str
    alloc: str
    node: str
    start: int
    end: int


@guarantee("one writer a volume")
def one_writer_a_volume(history: History) -> Verdict:
    """A volume made for one writer never has two live allocations that can write to it at the same time.

    By ground truth: a live process in whose mount namespace the volume's file system is mounted writable,
    from the first look that showed it to the last. What happened between two looks is not held against
    anybody.
    """
    single = {event.volume for event in history.of(Volume) if event.one_writer}
    holds = [hold for hold in _holds(history) if hold.volume in single]
    by_volume: dict[str, list[_Hold]] = defaultdict(list)
    for hold in holds:
        by_volume[hold.volume].append(hold)
    witnesses = [
        _witness(one, other)
        for held in by_volume.values()
        for one, other in combinations(held, 2)
        if one.alloc != other.alloc and max(one.start, other.start) <= min(one.end, other.end)
    ]
    return one_writer_a_volume.found(len(holds), witnesses, nothing="no task was seen with a volume mounted")


def _holds(history: History) -> list[_Hold]:
    """Every hold of a volume, from what the observers told whenever it changed."""
    holds: list[_Hold] = []
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
                    holds.append(_Hold(key[0], key[1], node, start, end))
            for key in sorted(now):
                going.setdefault(key, (event.t, event.t))
        holds += [_Hold(key[0], key[1], node, start, end) for key, (start, end) in going.items()]
    return holds


def _by_node(history: History) -> dict[str, list[Observed]]:
    told: dict[str, list[Observed]] = defaultdict(list)
    for event in history.of(Observed):
        told[event.node].append(event)
    return told


def _witness(one: _Hold, other: _Hold) -> Witness:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Witness(
        f"allocation {one.alloc[:8]} on {one.node} and allocation {other.alloc[:8]} on {other.node} "
        f"both held {one.volume} writable from {seconds(start)} to {seconds(end)}",
        start,
        end,
        sorted({one.node, other.node}),
    )
