"""What allocations have left on a node that are no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stormpool.audit import allocations

if TYPE_CHECKING:
    from stormpool.audit.look import Look

ID = re.compile(allocations.ID)
OF_TASK = re.compile(rf"{allocations.ID}\.")
COLUMNS = "name,mountpoint,nomad:alloc"  # the property is one that device plugins can set, as zfs_device does


@dataclass(frozen=True)
class Dataset:
    """One file system or volume of a pool."""

    name: str
    alloc: str  # whose it is, by its mount point or its own word


def datasets(said: str) -> list[Dataset]:
    """What `zfs list -H -o COLUMNS` says."""
    found = []
    for line in said.splitlines():
        name, mountpoint, alloc = line.split("\t")
        own = ID.match(alloc)
        found.append(Dataset(name, own[0] if own else allocations.of(mountpoint)))
    return found


def processes(look: Look) -> Iterator[str]:
    """Tasks, and what collects their logs; of executors `processes.orphaned_executors` tells."""
    for process in look.processes.values():
        if process.alloc and process.lives and process.companion != "executor":
            yield from _left(look, process.alloc, str(process))


def cgroups(look: Look) -> Iterator[str]:
    """Control groups of tasks; those that are not named ALLOC.TASK are told if they are empty.

    The latter have names of their own: of executors on cgroups version 1 (nomad 1.6, executor_linux.go).
    """
    for path, _, first in (said.partition(" ") for said in look.cgroups):
        name = path.rpartition("/")[2]
        if OF_TASK.match(name):
            yield from _left(look, _id_in(name), f"cgroup {path}")
        elif not first:
            yield f"cgroup {path} is empty"


def namespaces(look: Look) -> Iterator[str]:
    """Network namespaces; the agent names them by their allocations."""
    for name in look.namespaces:
        yield from _left(look, _id_in(name), f"network namespace {name}")


def of_datasets(look: Look, found: Iterable[Dataset]) -> Iterator[str]:
    """Datasets that say whose they are."""
    for dataset in found:
        yield from _left(look, dataset.alloc, f"dataset {dataset.name}")


def _left(look: Look, alloc: str, what: str) -> Iterator[str]:
    if alloc and not look.knows(alloc):
        yield f"{what} is of allocation {alloc[:8]}, {look.why_unknown}"


def _id_in(text: str) -> str:
    found = ID.search(text)
    return found[0] if found else ""
