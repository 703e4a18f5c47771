"""What a run's history tells of each design's datasets: what stayed, what went too soon, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from stormpool.checkers.paired import counted
from stormpool.events import SECOND, Books, Design, Operation, Process, Tried
from stormpool.history import NEVER, History
from stormpool.leaks.allocations import TASK, Lived, designs_of, lived
from stormpool.leaks.looks import Dataset, Looks
from stormpool.verdict import seconds

# Nanoseconds before the servers are known to have had an allocation stopped in which its dataset may go: what
# clients know at once is told to us by another.
SLACK = SECOND // 2


class Row(msgspec.Struct, frozen=True):
    """What became of one design's datasets in a run; each thing in a sentence."""

    design: str
    allocations: int
    datasets: int
    leaked: list[str] = []  # there once all had settled, though nobody has them
    kept: list[str] = []  # there by policy: volumes that nobody deleted
    lost: list[str] = []  # gone, or not mounted, while their allocation lived
    data_lost: list[str] = []  # writes told of that a later life did not find, or that went with it
    strangers: list[str] = []  # writes of another allocation that a life found
    collected: list[float] = []  # seconds from an allocation's end until its dataset was gone
    processes: list[int] = []  # of each allocation that was counted: those for its dataset alone
    gains: list[str] = []  # what its tasks could do beyond their own
    unread: list[
        str
    ] = []  # allocations that ran, and what their tasks said is gone: of them no loss is known


def tally(history: History) -> list[Row]:
    """A row for each design that the run tells of."""
    looks, allocations = Looks(history), lived(history)
    return [
        _row(history, design, looks, [each for each in allocations if each.design.name == design.name])
        for design in designs_of(history)
    ]


def _row(history: History, design: Design, looks: Looks, mine: Sequence[Lived]) -> Row:
    deletions = _deletions(history)
    left = [each for each in left_of(design, looks.left) if not _held(history, each, mine)]
    kept = [each for each in left if design.volumes and not _done(deletions, each.name)]
    return Row(
        design.name,
        len(mine),
        len(left_of(design, looks.all)),
        [str(each) for each in left if each not in kept],
        [str(each) for each in kept],
        [what for each in mine for what in _lost(each, looks)],
        [what for number, each in enumerate(mine) for what in _data_lost(each, mine[number + 1 :], looks)],
        [what for each in mine for what in _strangers(each, mine)],
        [took for each in _last_holders(mine) for took in _collected(each, looks, deletions)],
        list(_processes(history, mine)),
        list(dict.fromkeys(_gains(history, mine))),
        [f"allocation {each}, of which nothing was read" for each in mine if each.ran and not each.lives],
    )


def left_of(design: Design, datasets: Iterable[Dataset]) -> list[Dataset]:
    """Those of some datasets that are a design's."""
    return [each for each in datasets if each.name.startswith(design.datasets)]


def _deletions(history: History) -> dict[str, Operation]:
    """The volumes that their operator would have deleted, each with what came of it."""
    return {each.subject: each for each in history.of(Operation) if each.name == "delete"}


def _deletion(deletions: Mapping[str, Operation], dataset: str) -> Operation | None:
    """What came of deleting the volume that a dataset is."""
    return deletions.get(dataset.rpartition("/")[2])


def _done(deletions: Mapping[str, Operation], dataset: str) -> bool:
    """Whether the servers say that the volume is deleted."""
    asked = _deletion(deletions, dataset)
    return asked is not None and not asked.error


def _held(history: History, dataset: Dataset, mine: Sequence[Lived]) -> bool:
    """Whether somebody that may still run has it, by what the servers said last."""
    last = (alloc for books in history.of(Books)[-1:] for alloc in books.allocs)
    live = {alloc.id for alloc in last if alloc.live and alloc.desired == "run"}
    return any(each.id in live and (each.node, each.dataset) == (dataset.node, dataset.name) for each in mine)


def _lost(alloc: Lived, looks: Looks) -> Iterator[str]:
    """What of an allocation's dataset was not there while it lived."""
    for life in alloc.lives[1:]:
        if not life.dataset:
            yield f"life {life.number} of allocation {alloc} found no dataset"
    until = alloc.stopping - SLACK
    for each in _datasets_of(alloc, looks):
        if each.well <= each.gone < until:
            yield f"{each} of allocation {alloc} was gone at {seconds(each.gone)}"
        elif early := [t for t in each.unmounted if t < until]:
            yield f"{each} of allocation {alloc} was not mounted at {seconds(early[0])}"


def _datasets_of(alloc: Lived, looks: Looks) -> list[Dataset]:
    """The datasets that an allocation had, and none of the same name that an earlier holder had."""
    names = {life.dataset for life in alloc.lives if life.dataset}
    here = [each for each in looks.all if each.node == alloc.node and each.name in names]
    return [each for each in here if alloc.design.volumes or each.first >= alloc.placed]


def _data_lost(alloc: Lived, later: Sequence[Lived], looks: Looks) -> Iterator[str]:
    """The writes of each life that a later one of the same allocation did not find, of a volume one of a
    later allocation of its job; or that went with its dataset, while it lived.
    """
    heirs = [life for each in later if alloc.design.volumes and each.job == alloc.job for life in each.lives]
    went = {
        each.name for each in _datasets_of(alloc, looks) if each.well <= each.gone < alloc.stopping - SLACK
    }
    for number, life in enumerate(alloc.lives):
        next_ones = [*alloc.lives[number + 1 :], *(each for each in heirs if each.dataset == life.dataset)]
        found = [each.found.get(f"{alloc.id}/{life.life}", 0) for each in next_ones]
        there = 0 if life.dataset in went else min(found, default=life.wrote)
        if there < life.wrote:
            lacking = life.wrote - there
            yield f"{lacking} of {life.wrote} writes of life {life.number} of allocation {alloc}"


def _strangers(alloc: Lived, mine: Sequence[Lived]) -> Iterator[str]:
    """The writes of other allocations that one found; a volume is there to have those of its own job."""
    own = {each.id for each in mine if alloc.design.volumes and each.job == alloc.job} | {alloc.id}
    for life in alloc.lives:
        for writer, count in life.found.items():
            other = writer.partition("/")[0]
            if other not in own:
                yield f"{count} writes of allocation {other[:8]} found by allocation {alloc}"


def _last_holders(mine: Sequence[Lived]) -> list[Lived]:
    """Allocations, but for those whose volume another had after them: it was not theirs to collect."""
    last = {each.dataset: each for each in mine}
    return [each for each in mine if not each.design.volumes or last[each.dataset] is each]


def _collected(alloc: Lived, looks: Looks, deletions: Mapping[str, Operation]) -> Iterator[float]:
    """How long its dataset was there after an allocation's end; none while it is there.

    A volume is nobody's to collect until its operator wants it deleted, once it is free.
    """
    if alloc.over == NEVER or not alloc.dataset:
        return
    dataset = looks.of(alloc.node, alloc.dataset, alloc.over)
    asked = _deletion(deletions, alloc.dataset) if alloc.design.volumes else None
    since = max(alloc.over, asked.t if asked else 0)
    if dataset is not None and dataset.gone != NEVER:
        yield max(0, dataset.gone - since) / SECOND


def _processes(history: History, mine: Sequence[Lived]) -> Iterator[int]:
    """How many processes each allocation had for its dataset, each time that tasks were counted."""
    ids = {each.id for each in mine}
    for census, looks in counted(history):
        running = {each.alloc for each in census.tasks if each.name == TASK and each.state == "running"}
        for look in looks:
            here = {each.alloc for each in census.tasks if each.node == look.node}
            for alloc in sorted(ids & running & here):
                yield _beyond_its_own([each for each in look.processes if each.alloc == alloc])


def _beyond_its_own(processes: Sequence[Process]) -> int:
    """Those of an allocation's processes that are not its consumer's: it has an executor and a logmon."""
    others = [each for each in processes if each.task != TASK]
    executors = sum(each.is_executor for each in others)
    logmons = sum(each.is_logmon for each in others)
    return len(others) - min(1, executors) - min(1, logmons)


def _gains(history: History, mine: Sequence[Lived]) -> Iterator[str]:
    """What tasks of a submitter's could do: read what only root can."""
    ids = {each.id for each in mine}
    for tried in history.of(Tried):
        if tried.alloc in ids and tried.secrets:
            yield f"task {tried.task} of allocation {tried.alloc[:8]} is root on its node (uid {tried.uid})"
