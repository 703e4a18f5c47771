"""Commands reach the nodes of a lab that is up as they are, whatever way leads there."""

import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool import hand, ledger
from stormpool.errors import Misuse
from stormpool.ledger import Written

WORDS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=4)


@pytest.mark.parametrize(("way", "by_line"), [(["env", "--"], False), (["sh", "-c"], True)])
def test_words_reach_a_node_as_they_are(way: list[str], by_line: bool) -> None:
    """`sh -c` takes a command as ssh does: as one word, which a shell reads."""
    lab = Written("cafe", "/run", (1, 1), nodes={"client1": way}, by_line=by_line)

    @given(WORDS)
    def as_they_are(words: list[str]) -> None:
        argv = hand.entering(lab, "client1", ["printf", "%s\\0", *words])
        said = subprocess.run(argv, capture_output=True, check=True).stdout.decode()
        assert said == "".join(f"{word}\0" for word in words or [""])

    as_they_are()


def test_a_node_that_is_not_there_is_misuse() -> None:
    with pytest.raises(Misuse, match="name one of: client1"):
        hand.entering(Written("cafe", "/run", (1, 1), nodes={"client1": ["env"]}), "client2", ["true"])


def test_one_that_was_left_is_no_choice_beside_one_that_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    up, left = Written("cafe", "/run", ledger.identity(os.getpid())), Written("dead", "/run", (1 << 22, 1))
    monkeypatch.setattr(ledger, "labs", lambda: [left, up])
    assert hand.chosen(None) is up
    assert hand.chosen("dead") is left
    monkeypatch.setattr(ledger, "labs", lambda: [left])
    assert hand.chosen(None) is left
    monkeypatch.setattr(ledger, "labs", lambda: [up, up])
    with pytest.raises(Misuse, match="2 labs are up"):
        hand.chosen(None)
