"""Who can write to a volume, by the kernel's word (CSI spec, access modes)."""

from __future__ import annotations

from collections import defaultdict

from stormpool.checkers.holds import Hold, clashes, holds
from stormpool.events import Volume
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("one writer a volume")
def one_writer_a_volume(history: History) -> Verdict:
    """A volume made for one writer never has two live allocations that can write to it at the same time.

    By ground truth: a live process in whose mount namespace the volume's file system is mounted writable,
    from the first look that showed it to the last. What happened between two looks is not held against
    anybody.
    """
    single = {event.volume for event in history.of(Volume) if event.one_writer}
    by_volume: dict[str, list[Hold]] = defaultdict(list)
    for hold in holds(history):
        if hold.name in single:
            by_volume[hold.name].append(hold)
    witnesses = [_witness(*pair) for held in by_volume.values() for pair in clashes(held)]
    judged = sum(map(len, by_volume.values()))
    return one_writer_a_volume.found(judged, witnesses, nothing="no task was seen with a volume mounted")


def _witness(one: Hold, other: Hold) -> Witness:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Witness(
        f"allocation {one.alloc[:8]} on {one.node} and allocation {other.alloc[:8]} on {other.node} "
        f"both held {one.name} writable from {seconds(start)} to {seconds(end)}",
        start,
        end,
        sorted({one.node, other.node}),
    )
