"""What is wrong with the network between nodes: the shape of a link, and all that is asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import msgspec

from stormpool.errors import Misuse

Pair = tuple[str, str]  # from one node, to another


class Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What becomes of every packet on a node's link, each way; their order stays unless `reorder` says."""

    delay: float = 0.0  # seconds
    jitter: float = 0.0  # seconds that the delay may be off by, either way
    loss: float = 0.0  # share of the packets, 0 to 1
    duplicate: float = 0.0  # share of the packets that arrive twice
    reorder: float = 0.0  # share of the packets that are not delayed, and so overtake others
    rate: int = 0  # bytes a second; 0: as many as there are
    seed: int = 0  # of the chances

    def __post_init__(self) -> None:
        """Refuse what no link does."""
        for name in ("loss", "duplicate", "reorder"):
            if not 0 <= getattr(self, name) <= 1:
                raise Misuse(f"{name} of {getattr(self, name):g}", fix="give a share, from 0 to 1")
        for name in ("delay", "jitter", "rate"):
            if getattr(self, name) < 0:
                raise Misuse(f"{name} of {getattr(self, name):g}", fix="give 0 or more")
        if self.jitter > self.delay:
            raise Misuse(
                f"jitter of {self.jitter:g} s around a delay of {self.delay:g} s",
                fix="no packet arrives before it was sent: give a delay as large as the jitter",
            )
        if self.reorder and not self.delay:
            raise Misuse(
                "reorder without a delay",
                fix="give a delay: packets that are not delayed overtake those that are",
            )


@dataclass
class Standing:
    """All that is asked of a lab's links, by whoever asked for it."""

    _dropped: dict[Hashable, frozenset[Pair]] = field(default_factory=dict)
    _shaped: dict[Hashable, dict[str, Shape]] = field(default_factory=dict)

    def drop(self, pairs: Iterable[Pair], by: Hashable) -> None:
        """Somebody wants packets from one node to another dropped, on top of what is asked already."""
        wanted = frozenset((source, sink) for source, sink in pairs if source != sink)
        self._dropped[by] = self._dropped.get(by, frozenset()) | wanted

    def shape(self, node: str, shape: Shape, by: Hashable) -> None:
        """Somebody wants a node's link shaped; the latest who asked has it."""
        before = self._shaped.pop(by, {})
        self._shaped[by] = {**before, node: shape}

    def restore(self, by: Hashable | None) -> None:
        """Somebody wants nothing any more; None: nobody does."""
        for asked in (self._dropped, self._shaped):
            if by is None:
                asked.clear()
            else:
                asked.pop(by, None)

    def deaf(self, sink: str) -> list[str]:
        """The nodes whose packets must not reach this one."""
        pairs = frozenset[Pair]().union(*self._dropped.values())
        return sorted(source for source, to in pairs if to == sink)

    def shapes(self) -> dict[str, Shape]:
        """The links that must be shaped."""
        return {node: shape for asked in self._shaped.values() for node, shape in asked.items()}

    @property
    def whole(self) -> bool:
        """Whether nothing is asked."""
        return not self._dropped and not self._shaped
