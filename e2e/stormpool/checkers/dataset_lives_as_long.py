"""Datasets that plugins make for allocations: there in time, and gone in time (seed 000)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stormpool.checkers.paired import counted, seen_on, settled, silent
from stormpool.events import AllocView, Books, Census, Design, Ended, Observed, Operation
from stormpool.history import History
from stormpool.instances import id_of
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
    told = told_of(history)
    witnesses, judged, unseen = [], 0, []
    for census, looks in counted(history):
        for look in looks:
            judged += sum(len(task.devices) for task in census.tasks if task.node == look.node)
            witnesses += [seen_on(what, look) for what in without_dataset(census, look, told.reserved)]
    for books, looks in settled(history):
        unseen += silent(looks)
        for look in looks:
            judged += len(look.datasets)
            witnesses += [seen_on(what, look) for what in left_datasets(look, books, told)]
    return dataset_lives_as_long.found(judged, witnesses, nothing="no dataset was seen", unseen=unseen)


# Node, id of an instance → last names of the datasets made for it.
Reserved = Mapping[tuple[str, str], frozenset[str]]


@dataclass(frozen=True)
class Told:
    """What a run tells by which it can be said whose a dataset is."""

    reserved: Reserved
    spared: tuple[str, ...]  # what the names of the datasets begin with that may stay by design
    allocs: frozenset[str]  # all that there ever were: the servers forget some


def told_of(history: History) -> Told:
    """What a run has told so far."""
    allocs = {task.alloc for census in history.of(Census) for task in census.tasks}
    allocs |= {view.alloc.id for view in history.of(AllocView)} | {each.alloc for each in history.of(Ended)}
    allocs |= {each.alloc for each in history.of(Operation) if each.alloc}
    spared = tuple(each.datasets for each in history.of(Design) if not each.collects)
    return Told(reservations(history), spared, frozenset(allocs))


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
            if not mounted & reserved.get((look.node, id_of(instance)), frozenset()):
                yield f"task {task.name} of allocation {task.alloc[:8]} has {instance} and not its dataset"


def left_datasets(look: Observed, books: Books, told: Told) -> Iterator[str]:
    """Datasets of allocations that are over."""
    over = {id[:SHORT] for id in {*told.allocs, *(alloc.id for alloc in books.allocs)} - books.live}
    held = {(alloc.node, id_of(each)) for alloc in books.allocs if alloc.live for each in alloc.devices}
    for dataset in look.datasets:
        if dataset.startswith(told.spared):
            continue
        name = dataset.rpartition("/")[2]
        for (node, instance), made in told.reserved.items():
            if node == look.node and name in made and (node, instance) not in held:
                yield f"dataset {dataset}, made for device {instance} that nobody has, was left"
        if any(id in name for id in over):
            yield f"dataset {dataset}, of an allocation that is over, was left"
