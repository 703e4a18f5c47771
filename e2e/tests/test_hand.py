"""Commands reach the nodes of a lab that is up as they are, whatever way leads there."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormpool import hand
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
