"""One way of a shaped link: when each packet goes on. No clock, no socket.

What becomes of a packet depends on the seed, on how many came before, and on the sizes and times of all of
them; on nothing else. Times are in nanoseconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from random import Random

MOST = 1000  # packets that may wait; what comes then is lost, as at a full switch (netem's own bound)
SECOND = 10**9


class Lane:
    """Packets on their way in one direction."""

    def __init__(self, shape: Mapping[str, float], seed: str) -> None:
        self._shape = shape
        self._chance = Random(seed)
        self._free = 0  # when the wire has sent all it was given
        self._last = 0  # when the last packet that keeps its place goes on
        self._number = 0
        self._waiting: list[tuple[int, int, bytes]] = []

    def take(self, packet: bytes, size: int, now: int) -> None:
        """A packet comes in, of `size` bytes on the wire."""
        lost, twice, late, ahead = (self._chance.random() for _ in range(4))  # always four: see above
        if lost < self._shape.get("loss", 0):
            return
        for _ in range(2 if twice < self._shape.get("duplicate", 0) else 1):
            if len(self._waiting) < MOST:
                self._send(packet, self._sent(size, now), late, ahead)

    def due(self, now: int) -> list[bytes]:
        """The packets that go on now, in order."""
        going = []
        while self._waiting and self._waiting[0][0] <= now:
            going.append(heapq.heappop(self._waiting)[2])
        return going

    def next(self) -> int | None:
        """When the next packet goes on."""
        return self._waiting[0][0] if self._waiting else None

    def rest(self) -> list[bytes]:
        """All that still waits, in order, due or not."""
        rest = [packet for _, _, packet in sorted(self._waiting)]
        self._waiting.clear()
        return rest

    def _send(self, packet: bytes, at: int, late: float, ahead: float) -> None:
        if ahead >= self._shape.get("reorder", 0):
            delay, jitter = self._shape.get("delay", 0), self._shape.get("jitter", 0)
            at = self._last = max(self._last, at + round((delay + (2 * late - 1) * jitter) * SECOND))
        self._number += 1
        heapq.heappush(self._waiting, (at, self._number, packet))

    def _sent(self, size: int, now: int) -> int:
        """When the wire has sent so many bytes more."""
        rate = self._shape.get("rate", 0)
        self._free = max(self._free, now) + (round(size * SECOND / rate) if rate else 0)
        return self._free
