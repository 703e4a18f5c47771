"""What a volume was made with is there for its tasks (CSI spec, CreateVolume, `capacity_range`)."""

from __future__ import annotations

from stormpool.events import Acknowledged, Fault, Operation
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("a volume has the room it was made with")
def room_is_there(history: History) -> Verdict:
    """No write of a task to its volume is refused: it has the room of its size, however full its pool may be.

    By the tasks' own word, once it is asked for; they write far less than their volumes hold. Tasks whose
    output is gone are not judged, nor volumes that a fault has filled up to their quotas.
    """
    full = {
        each.subject.partition(" of ")[0].rpartition("/")[2] for each in history.of(Fault) if _fills(each)
    }
    told = (each for each in history.of(Acknowledged) if each.volume not in full)
    where = {each.alloc: each.node for each in history.of(Operation) if each.node}
    last = {(each.writer, each.volume): each for each in told}
    witnesses = []
    for each in last.values():
        if each.refused:
            of = f"{each.refused} writes of allocation {each.alloc[:8]} to {each.volume}"
            what = f"{of} were refused by {seconds(each.t)}, {each.writes} were not"
            nodes = [where[each.alloc]] if each.alloc in where else []
            witnesses.append(Witness(what, each.t, each.t, nodes))
    judged = sum(each.writes + each.refused for each in last.values())
    return room_is_there.found(judged, witnesses, nothing="no task told of a write")


def _fills(fault: Fault) -> bool:
    """Whether a fault has filled a volume, and no other."""
    return fault.name == "ReachQuota" and fault.step == "injected"
