"""What is still there when all is over (nomad issues 15415 and 13301; seed 004's executors)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stormpool.history import Books, History, Mount, Observed, Process, Volume
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("nothing left behind")
def nothing_left_behind(history: History) -> Verdict:
    """Once every consumer is stopped, nothing of them is left on any node within the bound for settling.

    No process, executor or log collector of an allocation that is over, no volume still staged, published or
    mounted, no volume's pool still imported. Things that go on by design, as the agent, the plugins and the
    node's own pool, are not left behind.
    """
    books = history.of(Books)
    seen = [event for event in history.of(Observed) if event.settled]
    if not books or not seen:
        return nothing_left_behind.found(0, [], nothing="no node was observed once all had settled")
    volumes = {event.volume for event in history.of(Volume)}
    witnesses = [
        Witness(f"{what} on {event.node} at {seconds(event.t)}", event.t, event.t, [event.node])
        for event in seen
        for what in left_on(event, books[-1], volumes)
    ]
    return nothing_left_behind.found(len(seen), witnesses, nothing="no node was observed")


def left_on(event: Observed, books: Books, volumes: Collection[str]) -> Iterator[str]:
    """What one look at a node shows of allocations and volumes that are no longer in use."""
    live = {alloc.id for alloc in books.allocs if alloc.live}
    unused = {volume for volume in volumes if not live.intersection(books.claims.get(volume, ()))}
    for process in event.processes:
        if process.alloc and process.alloc not in live:
            over = f"allocation {process.alloc[:8]}, which is over"
            yield f"process {process.pid} ({_name(process)}) of {over}, was left"
    for mount in event.mounts:
        if _published(mount) and mount.source.rpartition("/")[2] in unused:
            yield f"{mount.source} was still mounted at {mount.target}"
    for pool in event.pools:
        if pool in unused:
            yield f"pool {pool} of a volume nobody uses was still imported"


def _published(mount: Mount) -> bool:
    """Whether a mount is one an agent asked for, and not where a plugin keeps its volumes."""
    return "/staging/" in mount.target or "/per-alloc/" in mount.target


def _name(process: Process) -> str:
    words = process.argv.split()
    kind = next((word for word in ("executor", "logmon", "docker_logger") if word in words[1:2]), "")
    return kind or process.name
