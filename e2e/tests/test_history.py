"""A history is read back as it was written, and a corrupted one says where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool.errors import Misuse
from stormpool.events import Call, Event, Gone, Phase, Reply
from stormpool.history import History, encode

events = st.one_of(
    st.builds(Phase, t=st.integers(0), name=st.text()),
    st.builds(Call, t=st.integers(0), id=st.text(), plugin=st.text(), node=st.text(), method=st.text()),
    st.builds(Reply, t=st.integers(0), id=st.text(), message=st.text()),
    st.builds(Gone, t=st.integers(0), id=st.text(), by=st.text()),
)


@given(st.lists(events))
def test_it_is_read_back_as_written(written: list[Event]) -> None:
    read = History.decode(b"".join(encode(event) for event in written))
    assert list(read.events) == sorted(written, key=lambda event: event.t)


def test_a_corrupted_line_is_named() -> None:
    good = encode(Phase(1, "up"))
    with pytest.raises(Misuse, match=r"run/history\.jsonl, line 2 is no event") as caught:
        History.decode(good + b'{"kind":"phase","t":\n' + good, "run/history.jsonl")
    assert "remove the line" in caught.value.fix


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(Misuse, match="line 1 is no event"):
        History.decode(b'{"kind":"sorcery","t":1}\n')


def test_calls_are_joined_with_what_ended_them() -> None:
    history = History(
        [
            Reply(9, "a", "NOT_FOUND"),
            Call(1, "a", "zfs", "client1", "DeleteVolume", sent=2),
            Call(3, "b", "zfs", "client1", "Probe", sent=4),
        ]
    )
    answered, open_ = history.rpcs()
    assert (answered.entered, answered.left, answered.ok) == (2, 9, False)
    assert open_.end is None
    assert open_.left > 10**18
