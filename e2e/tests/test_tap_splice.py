"""A caller is made to leave between two of the server's frames, and not before the first."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool.tap.splice import FrameEnds

SETTINGS = bytes.fromhex("000006 04 00 00000000 000300000064")
ACKNOWLEDGED = bytes.fromhex("000000 04 01 00000000")


def test_nothing_is_said_before_the_server_has_spoken() -> None:
    frames = FrameEnds()
    assert not frames.between
    frames.feed(memoryview(SETTINGS))
    assert frames.between


@given(st.lists(st.sampled_from([SETTINGS, ACKNOWLEDGED]), min_size=1), st.integers(1, 40))
def test_where_frames_end(sent: list[bytes], size: int) -> None:
    frames, data = FrameEnds(), b"".join(sent)
    ends = set(itertools.accumulate(map(len, sent)))
    for at in range(0, len(data), size):
        frames.feed(memoryview(data[at : at + size]))
        assert frames.between == (min(at + size, len(data)) in ends)


@pytest.mark.parametrize("length", range(1, len(SETTINGS)))
def test_half_a_frame_is_no_end(length: int) -> None:
    frames = FrameEnds()
    frames.feed(memoryview(SETTINGS[:length]))
    assert not frames.between
