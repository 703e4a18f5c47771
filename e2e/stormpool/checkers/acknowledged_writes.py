"""What was written and synced is there afterwards (fsync(2); CSI spec, NodeUnstageVolume)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from stormpool.events import Acknowledged, Contents, Operation
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("no acknowledged write is lost")
def no_acknowledged_write_is_lost(history: History) -> Verdict:
    """Every write that a task had synced and told of is on its volume when it is read back afterwards.

    Over restarts of the task, of the node, drains, another node and what else happened in between. Volumes
    that could not be read back are not judged, nor tasks whose output is gone, nor what was written later.
    """
    volume_of = {each.alloc: each.subject for each in history.of(Operation) if each.name == "attach"}
    told: dict[str, list[Acknowledged]] = defaultdict(list)
    for acknowledged in history.of(Acknowledged):
        told[acknowledged.volume or volume_of.get(acknowledged.alloc, "")].append(acknowledged)
    read = {contents.volume: contents for contents in history.of(Contents)}
    judged, witnesses = 0, []
    for volume, contents in read.items():
        for each in _most_told(told[volume], contents):
            judged += each.writes
            there = contents.writes.get(each.writer, 0)
            if there < each.writes:
                of = f"the {each.writes} writes that allocation {each.alloc[:8]} told of"
                what = f"{volume} has {there} of {of}, at {seconds(contents.t)}"
                witnesses.append(Witness(what, each.t, contents.t, [contents.node]))
    nothing = "no volume was read back" if not read else "no task told of a write"
    return no_acknowledged_write_is_lost.found(judged, witnesses, nothing=nothing)


def _most_told(told: Iterable[Acknowledged], contents: Contents) -> Iterable[Acknowledged]:
    """The most that every writer had told of before a volume was read; output may be lost with its node."""
    most: dict[str, Acknowledged] = {}
    for each in told:
        known = most.get(each.writer)
        if each.t <= contents.t and (known is None or each.writes > known.writes):
            most[each.writer] = each
    return most.values()
