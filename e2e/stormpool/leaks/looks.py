"""The datasets of every node through a run: when each came, when it was gone, and when it was not mounted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from stormpool.events import Datasets, Observed
from stormpool.history import NEVER, History


@dataclass
class Dataset:
    """One dataset from its making to its end; one of the same name that is made later is another."""

    node: str
    name: str
    made: int  # seconds of the wall clock
    first: int  # when it was first seen
    gone: int = NEVER  # the first look without it
    well: int = NEVER  # the first look at which it was mounted
    unmounted: list[int] = field(default_factory=list)  # later looks at which it was not

    def __str__(self) -> str:
        return f"{self.name} on {self.node}"


class Looks:
    """All looks at the datasets of a run's nodes."""

    def __init__(self, history: History) -> None:
        self.all: list[Dataset] = []
        self._there: dict[str, dict[str, Dataset]] = defaultdict(dict)  # now: by node and name
        for event in history.events:
            if type(event) is Datasets:
                self._told(event)
            elif type(event) is Observed and event.settled:
                self._without(event.node, set(event.datasets), event.t)

    @property
    def left(self) -> list[Dataset]:
        """Those that were there at the last look."""
        return [each for each in self.all if each.gone == NEVER]

    def of(self, node: str, name: str, at: int) -> Dataset | None:
        """The one of that name that was there last at a time."""
        found = [each for each in self.all if (each.node, each.name) == (node, name) and each.first <= at]
        return found[-1] if found else None

    def _told(self, look: Datasets) -> None:
        here = self._there[look.node]
        same = {name for name, made in look.made.items() if name in here and here[name].made == made}
        self._without(look.node, same, look.t)
        for name, made in look.made.items():
            if name not in here:
                here[name] = Dataset(look.node, name, made, look.t)
                self.all.append(here[name])
            _note_mount(here[name], look)

    def _without(self, node: str, left: set[str], t: int) -> None:
        """A look that shows these, and nothing else of what was there."""
        here = self._there[node]
        for name in set(here) - left:
            here.pop(name).gone = t


def _note_mount(dataset: Dataset, look: Datasets) -> None:
    if dataset.name in look.mounted:
        dataset.well = min(dataset.well, look.t)
    elif dataset.well != NEVER:
        dataset.unmounted.append(look.t)
