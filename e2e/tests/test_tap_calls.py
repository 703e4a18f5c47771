"""What a tap tells becomes calls with what ended each: also when the tap itself ends, or is started anew."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

from stormpool.events import Call, Event, Gone, Reply
from stormpool.history import History
from stormpool.tap import wire
from stormpool.tap.calls import Calls, Hello
from stormpool.tap.messages import Protocol

NO_MESSAGES = Protocol([])  # nothing here has a body to read


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


def step(number: int, kind: int, at: int, **said: object) -> wire.Record:
    line = json.dumps({"stream": 1, **said}).encode()
    return wire.Record(number, 1, kind, at, at, line + b"\n")


def replies(tap: Calls, *steps: wire.Record) -> list[Reply]:
    return [each for record in steps for each in tap.take(record) if isinstance(each, Reply)]


def test_an_answer_that_a_fault_replaces_keeps_what_the_plugin_had_said() -> None:
    tap = calls(itertools.count(1))
    told = opened(tap)
    (reply,) = replies(
        tap,
        step(3, wire.ANSWERED, 140, code=0, held=True),
        step(4, wire.ANSWERED, 190, code=14, message="refused", by="tap"),
        step(5, wire.TOLD, 200),
    )
    assert (reply.code, reply.by, reply.t, reply.told) == ("UNAVAILABLE", "tap", 90, 100)
    assert (reply.said, reply.said_at) == ("OK", 40)
    (rpc,) = History([*told, reply]).rpcs()
    assert (rpc.ok, rpc.done, rpc.left) == (False, True, 40)


def test_what_a_fault_answers_while_the_plugin_has_said_nothing_is_no_word_of_the_plugin() -> None:
    tap = calls(itertools.count(1))
    told = opened(tap)
    (reply,) = replies(tap, step(3, wire.ANSWERED, 190, code=0, by="tap"), step(4, wire.TOLD, 200))
    assert (reply.said, reply.said_at) == ("", 0)
    (rpc,) = History([*told, reply]).rpcs()
    assert rpc.left == 90


def test_an_answer_that_is_lost_is_the_plugins_own() -> None:
    tap = calls(itertools.count(1))
    opened(tap)
    lost = [step(3, wire.ANSWERED, 140, code=0, held=True), step(4, wire.GIVEN_UP, 190, by="tap")]
    assert [(each.code, each.by, each.t, each.told) for each in replies(tap, *lost)] == [
        ("OK", "plugin", 40, 0)
    ]
