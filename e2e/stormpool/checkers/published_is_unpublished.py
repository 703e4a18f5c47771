"""What was published is unpublished once nobody uses it (CSI spec, "Volume Lifecycle"; nomad issue 14484)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from stormpool.history import Books, History, Member, Reply, Rpc
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# What undoes what, and the field that says where on the node it was done.
UNDONE_BY = {
    "ControllerPublishVolume": ("ControllerUnpublishVolume", ""),
    "NodeStageVolume": ("NodeUnstageVolume", "staging_target_path"),
    "NodePublishVolume": ("NodeUnpublishVolume", "target_path"),
}
DOING = {undo: done for done, (undo, _) in UNDONE_BY.items()}

Place = tuple[str, str, str, str]  # what was done, volume, node, path


@guarantee("what was published is unpublished")
def published_is_unpublished(history: History) -> Verdict:
    """Once nobody uses a volume, all that was published of it is unpublished, unless its node is lost.

    Attached, staged and published, each on its node: what a plugin has done it was asked to undo, and has
    said that it did, within the bound for settling. A volume that is still used at the end is not judged.
    """
    books = history.of(Books)
    if not books:
        nothing = "the servers were not asked once all had settled"
        return published_is_unpublished.found(0, [], nothing=nothing)
    last = books[-1]
    live = {alloc.id for alloc in last.allocs if alloc.live}
    used = {volume for volume, allocs in last.claims.items() if live.intersection(allocs)}
    lost = _lost(history)
    standing, judged, failing = _follow(history)
    witnesses = [
        Witness(_told(place, rpc, failing[place]), rpc.call.t, last.t, [place[2]], [rpc.call.id])
        for place, rpc in standing.items()
        if place[1] not in used and place[2] not in lost
    ]
    return published_is_unpublished.found(judged, witnesses, nothing="no volume was published")


def _follow(history: History) -> tuple[dict[Place, Rpc], int, Counter[Place]]:
    """What stands at the end, how many things were done, and how often undoing each has failed."""
    names = _node_names(history)
    standing: dict[Place, Rpc] = {}
    failing: Counter[Place] = Counter()
    judged = 0
    rpcs = {rpc.call.id: rpc for rpc in history.rpcs({*UNDONE_BY, *DOING})}
    for rpc in _as_they_ended(rpcs):
        call = rpc.call
        done = DOING.get(call.method, call.method)
        path = call.args.get(UNDONE_BY[done][1], "") if UNDONE_BY[done][1] else ""
        node = names.get(call.target, call.target) or call.node
        place = (done, call.volume, node, path)
        if call.method == done:
            if rpc.ok:
                judged += 1
                standing[place] = rpc
        elif rpc.ok:
            standing.pop(place, None)
        else:
            failing[place] += 1
    return standing, judged, failing


def _as_they_ended(rpcs: dict[str, Rpc]) -> Iterator[Rpc]:
    """Calls that came to an end, in the order of their ends."""
    yield from sorted((rpc for rpc in rpcs.values() if rpc.end is not None), key=lambda rpc: rpc.left)


def _node_names(history: History) -> dict[str, str]:
    """The node of each CSI node id."""
    return {
        rpc.end.result["node_id"]: rpc.call.node
        for rpc in history.rpcs({"NodeGetInfo"})
        if isinstance(rpc.end, Reply) and rpc.ok and "node_id" in rpc.end.result
    }


def _lost(history: History) -> set[str]:
    """The nodes that the servers hold for lost at the end."""
    last = {member.node: member.status for member in history.of(Member)}
    return {node for node, status in last.items() if status == "down"}


def _told(place: Place, rpc: Rpc, failed: int) -> str:
    done, volume, node, path = place
    tried = f"{failed} calls to undo it failed" if failed else "nobody asked for it to be undone"
    where = f"{node} at {path}" if path else node
    return f"{done} of {volume} on {where}, answered at {seconds(rpc.left)}, was never undone: {tried}"
