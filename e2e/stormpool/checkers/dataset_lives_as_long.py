"""Datasets that plugins make for allocations: there in time, and gone in time (seed 000)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from stormpool.checkers.paired import counted, seen_on, settled
from stormpool.history import Books, Census, Design, History, Observed
from stormpool.verdict import Verdict, guarantee

SHORT = 8  # characters of an allocation's id by which a dataset may name it


@guarantee("a dataset lives as long as its reservation")
def dataset_lives_as_long(history: History) -> Verdict:
    """A dataset made for an allocation is there while it lives, with its task, and gone once it is over.

    Which is whose: one that a device plugin's answer to Reserve names by a mount belongs to who was given the
    instance last; one in whose name there is an allocation's id, of eight characters at least, to that. While
    tasks are to go on each task with an instance has its dataset mounted, writable and alone; when all has
    settled there is none of an allocation that is over, by the nodes' own pools. What a run says of a design
    that it may leave datasets is not held against that one.
    """
    reserved, spared = reservations(history), may_stay(history)
    witnesses, judged = [], 0
    for census, looks in counted(history):
        for look in looks:
            judged += sum(len(task.devices) for task in census.tasks if task.node == look.node)
            witnesses += [seen_on(what, look) for what in without_dataset(census, look, reserved)]
    for books, looks in settled(history):
        for look in looks:
            judged += len(look.datasets)
            witnesses += [seen_on(what, look) for what in left_datasets(look, books, reserved, spared)]
    return dataset_lives_as_long.found(judged, witnesses, nothing="no dataset was seen")


Reserved = Mapping[tuple[str, str], frozenset[str]]  # node, instance → last names of the datasets made for it


def reservations(history: History) -> Reserved:
    """The datasets that plugins have told of when instances were reserved."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for rpc in history.rpcs(frozenset({"Reserve"})):
        if not rpc.done or rpc.end is None:
            continue
        said = json.loads(getattr(rpc.end, "result", {}).get("container_res", "{}"))
        paths = {mount["host_path"].rpartition("/")[2] for mount in said.get("mounts", [])}
        for instance in json.loads(rpc.call.args.get("device_ids", "[]")):
            key = rpc.call.node, instance
            found[key] = found.get(key, frozenset()) | paths
    return found


def without_dataset(census: Census, look: Observed, reserved: Reserved) -> Iterator[str]:
    """Live tasks that were given an instance and do not have its dataset."""
    for task in census.tasks:
        if task.node != look.node or task.state != "running" or not task.devices:
            continue
        mounted = {
            source.rpartition("/")[2]
            for process in look.processes
            if process.alloc == task.alloc
            for source in process.writes
        }
        for instance in task.devices:
            if not mounted & reserved.get((look.node, instance), frozenset()):
                yield f"task {task.name} of allocation {task.alloc[:8]} has {instance} and not its dataset"


def may_stay(history: History) -> tuple[str, ...]:
    """What the names of the datasets begin with that may stay by design."""
    return tuple(each.datasets for each in history.of(Design) if not each.collects)


def left_datasets(
    look: Observed, books: Books, reserved: Reserved, spared: tuple[str, ...] = ()
) -> Iterator[str]:
    """Datasets of allocations that are over."""
    over = {alloc.id[:SHORT] for alloc in books.allocs if not alloc.live}
    held = {(alloc.node, id) for alloc in books.allocs if alloc.live for id in alloc.devices}
    for dataset in look.datasets:
        if dataset.startswith(spared):
            continue
        name = dataset.rpartition("/")[2]
        for (node, instance), made in reserved.items():
            if node == look.node and name in made and (node, instance) not in held:
                yield f"dataset {dataset}, made for device {instance} that nobody has, was left"
        if any(id in name for id in over):
            yield f"dataset {dataset}, of an allocation that is over, was left"
