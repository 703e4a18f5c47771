"""A volume that moves leaves nothing where it was (zfs-receive(8): what is received is a copy)."""

from __future__ import annotations

from collections.abc import Iterable

from stormpool.checkers.paired import settled, silent
from stormpool.events import Observed, Volume
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("one pool a volume")
def one_pool_a_volume(history: History) -> Verdict:
    """Once all has settled, the file system of a volume is in the pools of one node at most.

    By each node's own ZFS; a file system is the volume's whose last name is the volume's. Where all had not
    settled within the bound a volume may still have been on its way, and is not judged.
    """
    volumes = [event.volume for event in history.of(Volume)]
    seen = [looks for books, looks in settled(history) if books.settled_in >= 0]
    judged, witnesses = 0, []
    for looks in seen:
        for volume in volumes:
            nodes = nodes_with(volume, looks)
            judged += bool(nodes)
            if len(nodes) > 1:
                times = [each.t for each in looks if each.node in nodes]
                what = f"{volume} was in the pools of {' and '.join(nodes)} at {seconds(max(times))}"
                witnesses.append(Witness(what, min(times), max(times), nodes))
    unseen = silent(each for looks in seen for each in looks)
    return one_pool_a_volume.found(judged, witnesses, nothing="no volume was in any pool", unseen=unseen)


def nodes_with(volume: str, looks: Iterable[Observed]) -> list[str]:
    """The nodes that have the file system of a volume in a pool, by what was seen of them."""
    names = ((each.node, name) for each in looks for name in each.datasets)
    return sorted({node for node, name in names if name.rpartition("/")[2] == volume})
