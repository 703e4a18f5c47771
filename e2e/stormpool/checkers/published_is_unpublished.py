"""What was published is unpublished once nobody uses it (CSI spec, "Volume Lifecycle"; nomad issue 14484)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from stormpool.checkers.csi_nodes import Names, csi_nodes, node_of
from stormpool.events import Books, Down, Member, Phase
from stormpool.history import NEVER, History, Rpc
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# What undoes what, and the field that says where on the node it was done.
UNDONE_BY = {
    "ControllerPublishVolume": ("ControllerUnpublishVolume", ""),
    "NodeStageVolume": ("NodeUnstageVolume", "staging_target_path"),
    "NodePublishVolume": ("NodeUnpublishVolume", "target_path"),
}
DOING = {undo: done for done, (undo, _) in UNDONE_BY.items()}
ATTACHED = "ControllerPublishVolume"  # what outlives a crash of the node it was done for

Place = tuple[str, str, str, str]  # what was done, volume, node, path


@guarantee("what was published is unpublished")
def published_is_unpublished(history: History) -> Verdict:
    """Once nobody uses a volume, all that was published of it is unpublished, unless its node is lost.

    Attached, staged and published, each on its node: what a plugin has done it was asked to undo, and has
    said that it did, within the bound for settling. What the plugin said counts, also where a fault kept that
    from its caller. Judged each time that all should have settled; a volume that is still used then is not
    judged then. What is staged and published on a node that goes down is gone with it, and what is attached
    to it is not.
    """
    if not history.of(Books):
        nothing = "the servers were not asked once all had settled"
        return published_is_unpublished.found(0, [], nothing=nothing)
    witnesses: dict[tuple[Place, str], Witness] = {}
    judged = 0
    for end in _ends(history):
        judged = end.judged
        for place, rpc in end.left.items():
            told, last = _told(place, rpc, end.failing[place]), max(end.t, rpc.left)
            found = Witness(told, rpc.call.t, last, [place[2]], [rpc.call.id])
            witnesses.setdefault((place, rpc.call.id), found)
    return published_is_unpublished.found(judged, list(witnesses.values()), nothing="no volume was published")


def left_published(history: History) -> bool:
    """Whether there is still something published that should not be, of what has settled last."""
    return any(end.left for end in [*_ends(history)][-1:])


@dataclass
class _Following:
    """What stands as the calls go by, how many things were done, and how often undoing each has failed."""

    standing: dict[Place, Rpc] = field(default_factory=dict)
    failing: Counter[Place] = field(default_factory=Counter)
    judged: int = 0

    def take(self, rpc: Rpc, place: Place) -> None:
        """A call has come to an end."""
        if rpc.call.method == place[0]:
            if rpc.done:
                self.judged += 1
                self.standing[place] = rpc
        elif rpc.done:
            self.standing.pop(place, None)
        else:
            self.failing[place] += 1

    def crash(self, node: str) -> None:
        """A node went down, and with it what was staged and published there."""
        gone = [place for place in self.standing if place[2] == node and place[0] != ATTACHED]
        for place in gone:
            del self.standing[place]


@dataclass(frozen=True)
class _End:
    """A time at which all should have settled."""

    t: int
    left: dict[Place, Rpc]  # what should not stand any more
    failing: Counter[Place]
    judged: int  # things that were done until then


def _ends(history: History) -> Iterator[_End]:
    """What is left each time that all should have settled: until the next workload begins, or at the end."""
    names = csi_nodes(history)
    happened = _happened(history)
    seen = _Following()
    begins = [phase.t for phase in history.of(Phase) if phase.name == "workload"]
    coming = next(happened, None)
    for books in history.of(Books):
        over = next((begin for begin in begins if begin > books.t), NEVER)
        while coming is not None and coming[0] < over:
            what = coming[1]
            if isinstance(what, Down):
                seen.crash(what.node)
            else:
                seen.take(what, _place(what, names))
            coming = next(happened, None)
        used, lost = books.used, _lost(history, over)
        left = {
            place: rpc
            for place, rpc in seen.standing.items()
            if place[1] not in used and place[2] not in lost
        }
        yield _End(books.t, left, seen.failing.copy(), seen.judged)


def _happened(history: History) -> Iterator[tuple[int, Rpc | Down]]:
    """Calls that came to an end, and nodes that went down, in the order of these times."""
    ended = [rpc for rpc in history.rpcs({*UNDONE_BY, *DOING}) if rpc.end is not None]
    happened: list[tuple[int, Rpc | Down]] = [(rpc.left, rpc) for rpc in ended]
    happened += [(down.t, down) for down in history.of(Down)]
    yield from sorted(happened, key=lambda each: each[0])


def _place(rpc: Rpc, names: Names) -> Place:
    call = rpc.call
    done = DOING.get(call.method, call.method)
    field_of_path = UNDONE_BY[done][1]
    return done, call.volume, node_of(call, names), call.args.get(field_of_path, "") if field_of_path else ""


def _lost(history: History, at: int) -> set[str]:
    """The nodes that the servers held for lost at a time."""
    last = {member.node: member.status for member in history.of(Member) if member.t < at}
    return {node for node, status in last.items() if status == "down"}


def _told(place: Place, rpc: Rpc, failed: int) -> str:
    done, volume, node, path = place
    tried = f"{failed} calls to undo it failed" if failed else "nobody asked for it to be undone"
    where = f"{node} at {path}" if path else node
    return f"{done} of {volume} on {where}, answered at {seconds(rpc.left)}, was never undone: {tried}"
