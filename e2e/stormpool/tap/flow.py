"""Flow control towards one side of a relay (RFC 9113, section 5.2): what it has no room for yet waits.

While nothing is held no frame ever waits: a sender is told what its receiver has room for, and sends no more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stormpool.tap.frames import DATA, END_STREAM, HEADERS

WINDOW = 65535  # bytes that fit at first: on a connection, and on a stream unless SETTINGS say otherwise
INITIAL_WINDOW_SIZE = 0x4  # the setting that does
SETTING = 6  # bytes (RFC 9113, section 6.5.1)


@dataclass
class Frame:
    """One frame of a stream, its header block decoded."""

    kind: int
    flags: int
    payload: bytes = b""
    fields: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ends(self) -> bool:
        """Whether its sender sends nothing more on the stream."""
        return bool(self.flags & END_STREAM) and self.kind in (HEADERS, DATA)

    @property
    def takes(self) -> int:
        """How many bytes of room it takes."""
        return len(self.payload) if self.kind == DATA else 0


@dataclass
class Lane:
    """One stream towards the side."""

    room: int
    waiting: deque[Frame] = field(default_factory=deque)


class Outlet:
    """All that is sent to one side."""

    def __init__(self) -> None:
        self.initial = WINDOW
        self._room = WINDOW
        self._lanes: dict[int, Lane] = {}

    def open(self, number: int) -> None:
        """A stream begins."""
        self._lanes[number] = Lane(self.initial)

    def is_open(self, number: int) -> bool:
        """Whether more is to be sent on a stream."""
        return number in self._lanes

    def close(self, number: int) -> int:
        """A stream is given up; return how many bytes waited."""
        lane = self._lanes.pop(number, None)
        return sum(frame.takes for frame in lane.waiting) if lane else 0

    def send(self, number: int, frame: Frame) -> Iterable[Frame]:
        """What may be sent now that a stream has a frame more.

        On a stream that is over, all: what comes there still is its sender's to answer for.
        """
        lane = self._lanes.get(number)
        if lane is None:
            self._room -= frame.takes
            return (frame,)
        if lane.waiting or frame.takes > max(min(self._room, lane.room), 0):
            lane.waiting.append(frame)
            return self._flow(number, lane)
        self._pass(number, lane, frame)
        return (frame,)

    def more(self, number: int, room: int) -> Iterator[tuple[int, Frame]]:
        """What may be sent now that a stream has so many bytes more room, or the connection (0)."""
        if number == 0:
            self._room += room
        elif number in self._lanes:
            self._lanes[number].room += room
        for each, lane in list(self._lanes.items()):
            if lane.waiting and number in (0, each):
                yield from ((each, frame) for frame in self._flow(each, lane))

    def settings(self, payload: bytes) -> Iterator[tuple[int, Frame]]:
        """What may be sent now that the side has said how much room a stream has."""
        for at in range(0, len(payload), SETTING):
            if int.from_bytes(payload[at : at + 2], "big") == INITIAL_WINDOW_SIZE:
                before, self.initial = self.initial, int.from_bytes(payload[at + 2 : at + SETTING], "big")
                for lane in self._lanes.values():
                    lane.room += self.initial - before
        yield from self.more(0, 0)

    def _flow(self, number: int, lane: Lane) -> Iterator[Frame]:
        while lane.waiting:
            frame = lane.waiting.popleft()
            fits = min(frame.takes, self._room, lane.room)
            if frame.takes and fits <= 0:
                lane.waiting.appendleft(frame)
                return
            if fits < frame.takes:
                lane.waiting.appendleft(Frame(DATA, frame.flags, frame.payload[fits:]))
                frame = Frame(DATA, 0, frame.payload[:fits])
            self._pass(number, lane, frame)
            yield frame

    def _pass(self, number: int, lane: Lane, frame: Frame) -> None:
        """A frame of a stream is sent."""
        if frame.kind == DATA:
            self._room -= len(frame.payload)
            lane.room -= len(frame.payload)
        if frame.ends:
            del self._lanes[number]
