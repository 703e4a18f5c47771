"""What a shaped link does to packets, and what is asked of links by several at once; without a network."""

import socket
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool import faults, target
from stormpool.errors import Misuse
from stormpool.links import Shape, Standing
from stormpool.providers import firewall, netem
from stormpool.providers.link.lane import MOST, SECOND, Lane
from stormpool.providers.link.relay import BURST, VNET_HDR, Way

GAP = 1_000_000  # nanoseconds between two packets
SIZE = 1000  # bytes

shares = st.floats(0, 1)
shapes = st.fixed_dictionaries(
    {
        "delay": st.floats(0.01, 0.1),
        "jitter": st.floats(0, 0.01),
        "loss": shares,
        "duplicate": shares,
        "rate": st.sampled_from([0, 10_000, 10_000_000]),
    }
)
seeds = st.integers(0, 2**32).map(str)


def passed(shape: dict[str, float], seed: str, count: int = 200) -> list[tuple[int, int]]:
    """When each packet went on, and which: numbered packets come in, a millisecond apart."""
    lane, gone = Lane(shape, seed), []
    for number in range(count):
        now = number * GAP
        gone += let_go(lane, now)
        lane.take(number.to_bytes(4, "big"), SIZE, now)
    return gone + let_go(lane, 10**18)


def let_go(lane: Lane, until: int) -> list[tuple[int, int]]:
    """What goes on until then, each at its time."""
    gone = []
    while (at := lane.next()) is not None and at <= until:
        gone += [(at, int.from_bytes(packet, "big")) for packet in lane.due(at)]
    return gone


@given(shapes, seeds)
def test_packets_keep_their_order(shape: dict[str, float], seed: str) -> None:
    gone = [number for _, number in passed(shape, seed)]
    assert gone == sorted(gone)


@given(shapes, seeds, shares)
def test_the_same_seed_the_same_fate(shape: dict[str, float], seed: str, reorder: float) -> None:
    asked = {**shape, "reorder": reorder}
    assert passed(asked, seed) == passed(asked, seed)


@given(shapes, seeds)
def test_none_is_early(shape: dict[str, float], seed: str) -> None:
    for at, number in passed(shape, seed):
        assert at >= number * GAP + (shape["delay"] - shape["jitter"]) * SECOND - 1


@given(seeds, st.sampled_from(["loss", "duplicate"]))
def test_shares_are_kept(seed: str, kind: str) -> None:
    """Of 4000 packets a share of 0.25 is 1000, give or take 6 standard deviations (27.4 each)."""
    changed = abs(len(passed({kind: 0.25}, seed, count=4000)) - 4000)
    assert abs(changed - 1000) < 6 * 27.4


@given(seeds)
def test_those_that_overtake_are_not_delayed(seed: str) -> None:
    gone = passed({"delay": 0.05, "reorder": 0.25}, seed)
    early = [number for at, number in gone if at < number * GAP + 0.05 * SECOND]
    assert sorted(number for _, number in gone) == list(range(200))
    assert 10 < len(early) < 100
    late = [number for _, number in gone if number not in early]
    assert late == sorted(late)


@given(seeds, st.integers(10_000, 500_000))
def test_no_more_than_the_rate(seed: str, rate: int) -> None:
    gone = passed({"rate": rate}, seed)
    for (before, _), (at, _) in pairwise(gone):
        assert at - before >= SIZE * SECOND // rate - 1


def test_null_is_null() -> None:
    assert passed({}, "0") == [(number * GAP, number) for number in range(200)]


def test_a_full_link_loses_what_comes() -> None:
    lane = Lane({"delay": 10.0}, "0")
    for number in range(MOST + 10):
        lane.take(number.to_bytes(4, "big"), SIZE, 0)
    rest = lane.rest()
    assert len(rest) == MOST
    assert rest == sorted(rest)
    assert lane.next() is None


def test_everybody_undoes_his_own() -> None:
    asked = Standing()
    asked.drop([("a", "b"), ("b", "b")], by=1)
    asked.drop([("c", "b")], by=2)
    assert (asked.deaf("b"), asked.deaf("a")) == (["a", "c"], [])
    asked.restore(1)
    asked.restore(1)
    assert asked.deaf("b") == ["c"]
    assert not asked.whole
    asked.restore(None)
    assert asked.whole


def test_the_latest_who_asked_has_the_link() -> None:
    asked = Standing()
    slow, lossy = Shape(delay=1), Shape(loss=0.5)
    asked.shape("a", slow, by=1)
    asked.shape("a", lossy, by=2)
    assert asked.shapes() == {"a": lossy}
    asked.restore(2)
    assert asked.shapes() == {"a": slow}


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ({"loss": 1.5}, "from 0 to 1"),
        ({"delay": -1.0}, "0 or more"),
        ({"jitter": 0.1}, "as large as the jitter"),
        ({"reorder": 0.1}, "give a delay"),
    ],
)
def test_what_no_link_does_is_refused(shape: dict[str, float], why: str) -> None:
    with pytest.raises(Misuse, match=why):
        Shape(**shape)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=why):
        faults.ShapeLink(target.leader(), **shape)  # type: ignore[arg-type]


def test_words_for_netem() -> None:
    shape = Shape(delay=0.01, jitter=0.002, loss=0.015, reorder=0.25)
    assert " ".join(netem.words(shape)) == (
        "netem limit 1000 delay 10000us 2000us loss 1.5% reorder 25% rate 1tbit"
    )
    assert " ".join(netem.words(Shape(rate=1000))) == "netem limit 1000 rate 8000bit"
    assert netem.words(Shape()) == ["netem", "limit", "1000"]


def test_words_for_the_firewall() -> None:
    assert "ip saddr { 10.77.0.1, 10.77.0.2 } drop" in firewall.rules(["10.77.0.1", "10.77.0.2"])
    assert firewall.rules([]) == "add table inet stormpool\ndelete table inet stormpool\n"


def test_what_has_come_is_sent_on_at_the_end_though_nobody_has_read_it() -> None:
    """Once a relay was told to end before it had read all of a burst, and the rest of it was lost."""
    (sender, source), (sink, receiver) = (
        socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)
    )
    with sender, source, sink, receiver:
        for end in (source, receiver):
            end.setblocking(False)
        way = Way("from here", source, sink)
        way.shape({"delay": 10})
        burst = [bytes(VNET_HDR) + number.to_bytes(4, "big") for number in range(2 * BURST + 1)]
        for packet in burst:
            sender.send(packet)
        way.read()
        way.end()
        assert [receiver.recv(100) for _ in burst] == burst
