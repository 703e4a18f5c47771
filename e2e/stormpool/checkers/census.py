"""What there was to be seen each time that tasks were counted while they were to go on."""

from __future__ import annotations

from collections.abc import Iterator

from stormpool.history import NEVER, Census, History, Observed


def counted(history: History) -> Iterator[tuple[Census, list[Observed]]]:
    """What the servers said each time, and what each node showed then."""
    looks = [event for event in history.of(Observed) if event.whole and not event.settled]
    taken = history.of(Census)
    ends = [*(after.t for after in taken[1:]), NEVER]
    for each, end in zip(taken, ends, strict=False):  # where nobody counted, that one end is none
        yield each, [look for look in looks if each.t <= look.t < end]
