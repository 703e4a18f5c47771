"""What a tap tells becomes calls with what ended each: also when the tap itself ends, or is started anew."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

from stormpool.history import Call, Event, Gone
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Hello

NO_MESSAGES = cast(Any, SimpleNamespace())  # nothing here has a body to read


@dataclass
class Begun:
    zero: int = 100


def calls(numbers: Iterator[int], alloc: str = "0123456789") -> Calls:
    return Calls(Hello(plugin="zfs", node="client1", alloc=alloc), NO_MESSAGES, Begun(), numbers, {})


def opened(tap: Calls) -> list[Event]:
    """One connection, one call that the plugin has, and no answer."""
    line = json.dumps({"stream": 1, "path": "/csi.v1.Identity/Unheard"}).encode()
    told = [
        wire.Record(0, 1, wire.OPENED, 110, 110, b"42"),
        wire.Record(1, 1, wire.ASKED, 120, 120, line + b"\n"),
        wire.Record(2, 1, wire.SENT, 130, 130, b'{"stream":1}\n'),
    ]
    return [event for record in told for event in tap.take(record) if isinstance(event, Event)]


def test_a_call_under_way_when_its_tap_goes_has_ended() -> None:
    tap = calls(itertools.count(1))
    (call,) = opened(tap)
    assert isinstance(call, Call)
    assert (call.t, call.sent, call.peer) == (20, 30, 42)
    assert list(tap.lost(200)) == [Gone(t=100, id=call.id, by="tap")]
    assert list(tap.lost(300)) == []


def test_calls_of_a_tap_started_anew_are_calls_of_their_own() -> None:
    numbers = itertools.count(1)
    seen = [event.id for _ in range(3) for event in opened(calls(numbers)) if isinstance(event, Call)]
    assert seen == ["client1/01234567/1", "client1/01234567/2", "client1/01234567/3"]
