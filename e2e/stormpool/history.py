"""What happened in a run, in one line of events: written as it happens, read back to be judged.

A history is JSON lines, one event a line, each with `kind` and `t`, the nanoseconds since the run began. An
RPC is two events, its `call` and what ended it, so that what was cut off in the middle is still told. All
times are of one clock (CLOCK_MONOTONIC of the host that ran the harness).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TypeVar, cast

import msgspec

from stormpool.errors import Misuse
from stormpool.events import AnyEvent, Call, Event, Gone, Reply

# Words in the names of calls that change nothing: CSI's, and those of devices and drivers.
ASKING = (
    *("Get", "Probe", "List", "Validate"),
    *("PluginInfo", "Schema", "Capabilities", "Fingerprint", "Stats", "Events", "WaitTask", "InspectTask"),
    *("Check", "StreamStdio", "StartStream"),
)

Kind = TypeVar("Kind", bound=Event)


class Rpc(msgspec.Struct, frozen=True, gc=False):
    """A call with what ended it."""

    call: Call
    end: Reply | Gone | None

    @property
    def entered(self) -> int:
        """When the plugin had it."""
        return self.call.sent

    @property
    def left(self) -> int:
        """When the plugin had answered, or its caller or the connection had gone; far ahead if never."""
        if self.end is None:
            return NEVER
        return (self.end.said_at if type(self.end) is Reply else 0) or self.end.t

    @property
    def ok(self) -> bool:
        """Whether it was answered, and with OK."""
        return type(self.end) is Reply and self.end.code == "OK"

    @property
    def done(self) -> bool:
        """Whether the plugin answered with OK, though its caller may have been told otherwise."""
        return type(self.end) is Reply and (self.end.said or self.end.code) == "OK"


NEVER = 1 << 62

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyEvent)


def encode(event: Event) -> bytes:
    """An event as a line of a history."""
    return _encoder.encode(event) + b"\n"


class History:
    """The events of a run, in the order of their times."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: Sequence[Event] = sorted(events, key=attrgetter("t"))

    @classmethod
    def decode(cls, data: bytes, where: str = "the history") -> History:
        """Read a history back. Raises `Misuse` for a line that is none, with its number."""
        try:
            return cls(_decoder.decode_lines(data))
        except msgspec.DecodeError:
            return cls(_line_by_line(data, where))

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The events of one kind."""
        return cast(list[Kind], self._by_kind.get(kind, []))

    def rpcs(self, methods: Container[str] | None = None) -> list[Rpc]:
        """The calls of these methods, or all, with what ended each, in the order in which they were made."""
        ends = self._ends
        return [
            Rpc(call, ends.get(call.id))
            for call in self.of(Call)
            if methods is None or call.method in methods
        ]

    @cached_property
    def _ends(self) -> dict[str, Reply | Gone]:
        """What ended each call, by its id."""
        ends: dict[str, Reply | Gone] = {end.id: end for end in self.of(Reply)}
        ends.update({end.id: end for end in self.of(Gone)})
        return ends

    @cached_property
    def _by_kind(self) -> dict[type[Event], list[Event]]:
        found: dict[type[Event], list[Event]] = defaultdict(list)
        for event in self.events:
            found[type(event)].append(event)
        return found


def _line_by_line(data: bytes, where: str) -> Iterable[AnyEvent]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            yield _decoder.decode(line)
        except msgspec.DecodeError as error:
            shown = line[:80].decode(errors="replace")
            raise Misuse(
                f"{where}, line {number} is no event: {error}: {shown!r}",
                fix="restore the file, or remove the line if the run was cut off while writing it",
            ) from error
