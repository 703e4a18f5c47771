"""Makes a run that breaks something as small as it can be: delta debugging over faults, workload and nodes.

One part after another is left out, big parts first, and left out for good where the run still breaks the same
(Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import structs

from stormpool.again.reproduction import Original
from stormpool.errors import MachineError, Misuse
from stormpool.lab import CsiPlugin
from stormpool.nemesis import Plan
from stormpool.script import Act, Script, encode
from stormpool.workers.pool import Patience, Workers
from stormpool.workers.worker import Done, Order

T = TypeVar("T")


@dataclass(frozen=True)
class Smaller:
    """A script that does less, and what it leaves out."""

    script: Script
    without: str


@dataclass
class Shrunk:
    """What came of it."""

    script: Script
    run: str = ""  # the smallest run that breaks the same
    removed: list[str] = field(default_factory=list)
    runs: int = 0


def size(script: Script) -> dict[str, int]:
    """How much there is of a script."""
    return {
        "faults": script.faults,
        "steps": sum(each.steps for act in script.acts for each in act.workloads),
        "nodes": script.lab.servers + script.lab.clients,
    }


def shrink(original: Original, workers: Workers, tries: int, told: Callable[[str], None]) -> Shrunk:
    """Leave out what can be. `tries`: runs of each candidate, of which one must break the same.

    Raises `Misuse` for a run that broke nothing; `MachineError` when it does not break again as it is, or the
    machine failed every run of a script, so that nobody knows whether that breaks the same.
    """
    if not original.broken:
        raise Misuse("this run broke nothing", fix="shrink one that did")
    made = Shrunk(original.script)
    trials = _Trials(original, workers, tries, made, told)
    if not trials.show(original.script):
        raise MachineError(f"the run broke nothing of the same in {tries} runs, so it cannot be made smaller")
    going_on, tried = True, {encode(original.script)}
    while going_on:
        going_on = False
        for smaller in candidates(made.script):
            written = encode(smaller.script)
            if written in tried:  # by another way
                continue
            tried.add(written)
            told(f"without {smaller.without}")
            if trials.show(smaller.script):
                made.script, going_on = smaller.script, True
                made.removed.append(smaller.without)
                told(f"breaks the same without {smaller.without}: {made.run}")
                break
    return made


class _Trials:
    """Runs of candidates; `tries`: how many of each, of which one must break the same."""

    def __init__(
        self, original: Original, workers: Workers, tries: int, made: Shrunk, told: Callable[[str], None]
    ) -> None:
        self._original = original
        self._workers = workers
        self._tries = tries
        self._made = made
        self._told = told

    def show(self, script: Script) -> bool:
        """Whether one of several runs of a script breaks the same; the first that does is kept.

        Raises `MachineError` when the machine failed all of them, or too many in a row.
        """
        found, failures, runs = list[str](), list[MachineError](), 0
        patience = Patience()

        def orders() -> Iterator[tuple[str, Order]]:
            for number in range(self._tries):
                if not found:
                    yield str(number), self._original.order(script)

        for _, done in self._workers.run(orders()):
            runs += 1
            failure = self._original.failure_of(done)
            if failure is not None:
                self._told(f"could not be run: {failure}")
                failures.append(failure)
            elif isinstance(done, Done) and self._original.shows_in(done):
                found.append(done.run)
            patience.hear(failure)
        self._made.runs += runs
        if len(failures) == runs:
            raise failures[-1]
        self._made.run = next(iter(found), self._made.run)
        return bool(found)


def candidates(script: Script) -> Iterator[Smaller]:
    """Scripts that do a part less, those that do much less first."""
    for number, act in enumerate(script.acts):
        for smaller, without in (*_fewer_faults(act), *_less_work(act)):
            acts = (*script.acts[:number], smaller, *script.acts[number + 1 :])
            yield Smaller(structs.replace(script, acts=acts), without)
    yield from _fewer_nodes(script)


def _fewer_faults(act: Act) -> Iterator[tuple[Act, str]]:
    for kept, gone in parts(act.plan.planned):
        yield structs.replace(act, plan=Plan(tuple(kept))), _named([each.fault for each in gone])


def _less_work(act: Act) -> Iterator[tuple[Act, str]]:
    for kept, gone in parts(act.workloads):
        if kept:
            yield structs.replace(act, workloads=tuple(kept)), _named(gone)
    for number, workload in enumerate(act.workloads):
        for less in workload.smaller():
            workloads = (*act.workloads[:number], less, *act.workloads[number + 1 :])
            without = f"{workload.steps - less.steps} of {workload.steps} steps of {type(workload).__name__}"
            yield structs.replace(act, workloads=workloads), without


def _fewer_nodes(script: Script) -> Iterator[Smaller]:
    lab = script.lab
    if lab.servers > 1:
        yield Smaller(
            structs.replace(script, lab=structs.replace(lab, servers=1)), f"{lab.servers - 1} servers"
        )
    for clients in sorted({1, lab.clients // 2, lab.clients - 1} - {0, lab.clients}):
        plugins = [
            structs.replace(each, controllers=min(each.controllers, clients))
            if isinstance(each, CsiPlugin) and each.controllers
            else each
            for each in lab.plugins
        ]
        smaller = structs.replace(lab, clients=clients, plugins=plugins)
        yield Smaller(structs.replace(script, lab=smaller), f"{lab.clients - clients} clients")


def parts(whole: Sequence[T]) -> Iterator[tuple[list[T], list[T]]]:
    """What is kept and what goes: everything, then halves, quarters and so on down to one at a time."""
    length = len(whole)
    while length:
        for start in range(0, len(whole), length):
            yield [*whole[:start], *whole[start + length :]], list(whole[start : start + length])
        length //= 2


def _named(gone: Sequence[object]) -> str:
    names = [str(each) if hasattr(each, "inject") else type(each).__name__ for each in gone]
    return ", ".join(names)
