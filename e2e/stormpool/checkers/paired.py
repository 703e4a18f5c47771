"""What the servers said, each time with what the nodes showed then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from stormpool.events import Books, Census, Observed, Operation
from stormpool.history import NEVER, History
from stormpool.verdict import Witness, seconds

Said = TypeVar("Said", Books, Census)
BEGINS = ("attach", "start", "finish")  # operations that begin tasks


def settled(history: History) -> Iterator[tuple[Books, list[Observed]]]:
    """Each time that all should have settled."""
    looks = [look for look in history.of(Observed) if look.settled]
    return _paired(history.of(Books), looks)


def counted(history: History) -> Iterator[tuple[Census, list[Observed]]]:
    """Each time that tasks were counted while they were to go on, until others are begun."""
    looks = [look for look in history.of(Observed) if look.whole and not look.settled]
    begun = [each.t for each in history.of(Operation) if each.name in BEGINS]
    for census, found in _paired(history.of(Census), looks):
        end = min((t for t in begun if t > census.t), default=NEVER)
        yield census, [look for look in found if look.t < end]


def _paired(said: Sequence[Said], looks: Sequence[Observed]) -> Iterator[tuple[Said, list[Observed]]]:
    """Each with the looks until the servers were asked again."""
    ends = [*(after.t for after in said[1:]), NEVER]
    for each, end in zip(said, ends, strict=False):  # where nobody was asked, that one end is none
        yield each, [look for look in looks if each.t <= look.t < end]


def silent(looks: Iterable[Observed]) -> list[str]:
    """Where ZFS said nothing, in a sentence each: no pool and no dataset is known of there."""
    return [f"ZFS said nothing on {look.node} at {seconds(look.t)}" for look in looks if look.silent]


def seen_on(what: str, look: Observed) -> Witness:
    """What was to be seen in a look."""
    return Witness(f"{what} on {look.node} at {seconds(look.t)}", look.t, look.t, [look.node])
