"""What the servers hold claimed is what is in use (nomad issue 15415: exhausted writer claims)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from stormpool.checkers.paired import settled
from stormpool.events import Alloc, Books, Observed, Volume
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("claims match reality")
def claims_match_reality(history: History) -> Verdict:
    """Once all has settled every claim has a live allocation, every live writer its claim, none is exhausted.

    Judged each time that it should have. Live by the kernel's word: a process of the allocation runs. A claim
    whose allocation is over, an allocation that writes to a volume it has no claim on, and a placement that
    is refused because a volume's claims are exhausted while nobody uses it, each break this. A file system is
    a volume's whose last name is the volume's own: of volumes of which none was ever seen mounted, writers
    are not judged.
    """
    volumes = {event.volume for event in history.of(Volume)}
    if not history.of(Books):
        return claims_match_reality.found(0, [], nothing="the servers were not asked once all had settled")
    looked_at = [(books, seen) for books, seen in settled(history) if seen]
    witnesses = [each for books, seen in looked_at for each in _wrong(books, seen, volumes)]
    nothing = "no volume was made" if not volumes else "no node was observed once all had settled"
    named = volumes & _shown(history)
    judged = len(looked_at) * (len(volumes) + len(named))
    unjudged = f"{len(volumes - named)} volumes whose writers were not judged, as none was seen mounted"
    apart = [unjudged] if judged and volumes - named else []
    return claims_match_reality.found(judged, witnesses, nothing=nothing, apart=apart)


def _wrong(books: Books, seen: Iterable[Observed], volumes: Container[str]) -> Iterator[Witness]:
    running = {process.alloc for event in seen for process in event.processes if process.task}
    writing = {
        (process.alloc, source.rpartition("/")[2]): event.node
        for event in seen
        for process in event.processes
        for source in process.writes
        if process.alloc
    }
    known = {alloc.id: alloc for alloc in books.allocs}
    for volume, allocs in sorted(books.claims.items()):
        for alloc in allocs:
            if alloc not in running:
                where = [known[alloc].node] if alloc in known else []
                claimed = f"volume {volume} is claimed by allocation {alloc[:8]}"
                yield _witness(f"{claimed}, {_fate(known.get(alloc))}", books, *where)
    for (alloc, volume), node in sorted(writing.items()):
        if volume in volumes and alloc not in books.claims.get(volume, []):
            writes = f"allocation {alloc[:8]} writes to volume {volume} on {node} and has no claim on it"
            yield _witness(writes, books, node)
    for reason in books.exhausted:
        yield _witness(f"a placement waits: {reason}", books)


def _shown(history: History) -> set[str]:
    """The last names of all file systems that were ever seen mounted, on a node or in a task."""
    return {
        source.rpartition("/")[2]
        for event in history.of(Observed)
        for source in (
            *(mount.source for mount in event.mounts),
            *(source for process in event.processes for source in process.writes),
        )
    }


def _fate(alloc: Alloc | None) -> str:
    return f"which is {alloc.status} on {alloc.node}" if alloc else "which the servers no longer know"


def _witness(what: str, books: Books, *nodes: str) -> Witness:
    return Witness(f"{what}, at {seconds(books.t)}", books.t, books.t, list(nodes))
