"""What is still there when all is over (nomad issues 15415 and 13301; seed 004's executors)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stormpool.checkers.paired import seen_on, settled, silent
from stormpool.events import Books, Observed, Process, Volume
from stormpool.history import History
from stormpool.verdict import Verdict, guarantee


@guarantee("nothing left behind")
def nothing_left_behind(history: History) -> Verdict:
    """Once every consumer is stopped, nothing of them is left on any node within the bound for settling.

    No process, executor or log collector of an allocation that is over, no volume still staged, published or
    mounted, no volume's pool still imported. Whatever is mounted where the agent has volumes staged and
    published is a volume's, be it of what file system it may. Each look is judged by what the servers said
    when all should have settled last. Things that go on by design, as the agent, the plugins and the node's
    own pool, are not left behind.
    """
    seen = [(event, books) for books, looks in settled(history) for event in looks]
    volumes = {event.volume for event in history.of(Volume)}
    witnesses = [seen_on(what, event) for event, books in seen for what in left_on(event, books, volumes)]
    nothing = "no node was observed once all had settled"
    unseen = silent(event for event, _ in seen)
    return nothing_left_behind.found(len(seen), witnesses, nothing=nothing, unseen=unseen)


def left_on(event: Observed, books: Books, volumes: Collection[str]) -> Iterator[str]:
    """What one look at a node shows of allocations and volumes that are no longer in use."""
    live, used = books.live, books.used
    for process in event.processes:
        if process.alloc and process.alloc not in live:
            over = f"allocation {process.alloc[:8]}, which is over"
            yield f"process {process.pid} ({_name(process)}) of {over}, was left"
    for mount in event.mounts:
        if not _in_use(mount.target, live, used):
            yield f"{mount.source} was still mounted at {mount.target}"
    for pool in event.pools:
        if pool in volumes and pool not in used:
            yield f"pool {pool} of a volume nobody uses was still imported"


def _in_use(target: str, live: Collection[str], used: Collection[str]) -> bool:
    """Whether what is mounted there is still to be: for an allocation that lives, for a volume that is used.

    The agent names the directories (nomad, client/pluginmanager/csimanager/volume.go): per-alloc/ALLOC/...
    and staging/VOLUME/... or staging/NAMESPACE/VOLUME/... What is elsewhere is the plugin's own.
    """
    _, of_alloc, below = target.partition("/per-alloc/")
    if of_alloc:
        return below.partition("/")[0] in live
    _, staged, below = target.partition("/staging/")
    return not staged or any(name in used for name in below.split("/")[:2])


def _name(process: Process) -> str:
    words = process.argv.split()
    kind = next((word for word in ("executor", "logmon", "docker_logger") if word in words[1:2]), "")
    return kind or process.name
