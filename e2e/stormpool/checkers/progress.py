"""Once the faults are over, all goes on (nomad issues 15415 and 13301)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from stormpool.events import SECOND, Books, Fault, Operation, Phase
from stormpool.history import NEVER, History, Rpc
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# Calls about one volume on one node that fail in one second: nobody waits between them. An agent that backs
# off makes one or two; one that spins made 250 (nomad 1.6.1, a detach that fails).
SPINNING = 20
# Operations that ask something of the cluster.
WANTED = ("attach", "run", "detach", "start", "finish", "stop")
# Whose job is tried again by the servers themselves: it has come right where it is seen to run later.
STARTS = ("attach", "start")


@guarantee("progress")
def progress(history: History) -> Verdict:
    """After the last fault is healed every job comes to what is wanted of it, and nothing spins.

    What is begun after it succeeds, attachments, detachments, tasks that are to run; where there was a
    fault, at the last try if not at the first, the servers' own included. Each time that faults are healed
    and all is to settle, all consumers are gone and all claims free within the bound for it. And never are
    more than 20 calls a second made about one volume on one node that all fail.
    """
    acts, books = [*_acts(history)], history.of(Books)
    witnesses = [*_failed(history, acts), *_left(history, books), *_spinning(history)]
    judged = sum(len(act.begun) for act in acts) + len(books)
    return progress.found(judged, witnesses, nothing="nothing was begun after the last fault, or settled")


@dataclass(frozen=True)
class _Act:
    """What was asked of the cluster between the begin of one workload and that of the next."""

    begun: list[Operation]  # after the last fault of it was healed
    after_faults: bool  # there was a fault before, in this one or in one before it


def _acts(history: History) -> Iterator[_Act]:
    faults = [event.t for event in history.of(Fault) if event.step in ("healed", "injected")]
    asked = [each for each in history.of(Operation) if each.name in WANTED]
    begins = [phase.t for phase in history.of(Phase) if phase.name == "workload"][1:]
    for begin, end in pairwise([-NEVER, *begins, NEVER]):
        over = max((t for t in faults if begin <= t < end), default=begin)
        yield _Act([each for each in asked if over <= each.t < end], bool(faults) and faults[0] < end)


def _failed(history: History, acts: Iterable[_Act]) -> Iterator[Witness]:
    """What did not come to what was wanted: at the first try where there was no fault, else at the last."""
    where = {each.alloc: each.node for each in history.of(Operation) if each.name in WANTED and each.node}
    for act in acts:
        well = {(each.name, each.subject): each.t for each in act.begun if not each.error}
        for each in act.begun:
            tries = (each.name, "run") if each.name in STARTS else (each.name,)
            last = max(well.get((name, each.subject), -NEVER) for name in tries)
            if each.error and not (act.after_faults and last > each.t):
                node = each.node or where.get(each.alloc, "")
                what = f"{each.name} of {each.subject}, begun at {seconds(each.t)}: {each.error}"
                yield Witness(what, each.t, each.ended, [node] if node else [])


def _left(history: History, books: Iterable[Books]) -> Iterator[Witness]:
    """Consumers and claims that were there when the bound for settling was over."""
    for each in books:
        if each.settled_in < 0:
            what = f"consumers or claims were left {_bound(history, each)} after the workload"
            yield Witness(what, each.t, each.t, _nodes(each))


def _nodes(books: Books) -> list[str]:
    """Where what is left is, or was."""
    claimed = {alloc for allocs in books.claims.values() for alloc in allocs}
    return sorted({alloc.node for alloc in books.allocs if alloc.id in claimed})


def _bound(history: History, books: Books) -> str:
    settling = [phase.t for phase in history.of(Phase) if phase.name == "settle" and phase.t <= books.t]
    return f"{(books.t - max(settling, default=0)) / SECOND:.0f} s"


def _spinning(history: History) -> Iterator[Witness]:
    """The first second in which too many calls about one thing fail, for each thing."""
    recent: dict[tuple[str, str, str], deque[Rpc]] = defaultdict(deque)
    told: set[tuple[str, str, str]] = set()
    for rpc in history.rpcs():
        call = rpc.call
        about = (call.method, call.volume, call.target or call.node)
        if not call.volume or about in told:
            continue
        if rpc.ok:
            recent[about].clear()
            continue
        window = recent[about]
        window.append(rpc)
        while call.t - window[0].call.t > SECOND:
            window.popleft()
        if len(window) > SPINNING:
            told.add(about)
            start = window[0].call.t
            failed = f"{len(window)} calls of {call.method} of {call.volume} failed"
            what = f"{failed} within a second from {seconds(start)}"
            yield Witness(what, start, call.t, [call.node], [each.call.id for each in window])
