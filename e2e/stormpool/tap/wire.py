"""What a tap tells the collector, and what it is told.

A tap says hello once (a line of JSON), then one record after another. Of a connection that is only forwarded
it tells the bytes as they were, with their times: parsing is the collector's work, so that a tap has nothing
to do between a read and its write. Of a connection whose calls can be held it tells of each call's steps.
Records are numbered as things happened: two directions are told of by two threads, and an answer may be told
of before its question. What a tap is told are lines of JSON: which methods to hold, and what becomes of a
call that is held.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

RECORD = struct.Struct("!QIBqqI")  # number, connection, kind, time read, time written, length
CALLER, PLUGIN, OPENED, ENDED = range(4)  # the kinds: bytes from either side; a connection's begin and end
# And the steps of a call: its request is whole, the plugin has it; its answer is whole, the caller has it; it
# ended without one; a message of a stream is there. Their bodies are a line of JSON, then the message if any.
ASKED, SENT, ANSWERED, TOLD, GIVEN_UP, STREAMED = range(4, 10)


@dataclass(frozen=True)
class Record:
    """One record. Times are of CLOCK_MONOTONIC on the tap's node, in nanoseconds."""

    number: int
    connection: int
    kind: int
    read_at: int
    written_at: int
    body: bytes

    def encode(self) -> bytes:
        """The record as it is sent."""
        head = (self.number, self.connection, self.kind, self.read_at, self.written_at, len(self.body))
        return RECORD.pack(*head) + self.body


class Decoder:
    """Cuts a stream of bytes into records, and puts them in the order of their numbers."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._early: dict[int, Record] = {}
        self._next = 0

    def feed(self, data: bytes) -> Iterator[Record]:
        """The records that are whole and in order, now that `data` has come as well."""
        self._unread += data
        for record in self._cut():
            self._early[record.number] = record
        while self._next in self._early:
            yield self._early.pop(self._next)
            self._next += 1

    def rest(self) -> Iterator[Record]:
        """What came after a gap, for when nothing more will come."""
        for number in sorted(self._early):
            yield self._early.pop(number)

    def _cut(self) -> Iterator[Record]:
        while len(self._unread) >= RECORD.size:
            number, connection, kind, read_at, written_at, length = RECORD.unpack_from(self._unread)
            if len(self._unread) < RECORD.size + length:
                return
            body = bytes(self._unread[RECORD.size : RECORD.size + length])
            del self._unread[: RECORD.size + length]
            yield Record(number, connection, kind, read_at, written_at, body)
