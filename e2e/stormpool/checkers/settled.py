"""What there was to be seen each time that all should have settled."""

from __future__ import annotations

from collections.abc import Iterator

from stormpool.history import NEVER, Books, History, Observed


def settled(history: History) -> Iterator[tuple[Books, list[Observed]]]:
    """What the servers said each time, and what the nodes showed then, until the servers were asked again."""
    looks = [event for event in history.of(Observed) if event.settled]
    books = history.of(Books)
    ends = [*(after.t for after in books[1:]), NEVER]
    for each, end in zip(books, ends, strict=False):  # where nobody was asked, that one end is none
        yield each, [look for look in looks if each.t <= look.t < end]
