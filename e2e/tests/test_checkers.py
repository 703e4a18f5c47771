"""Every checker against recorded histories: green on the good ones, red on its own bad ones."""

from pathlib import Path

import pytest

from stormpool import guarantees
from stormpool.history import History
from stormpool.verdict import Guarantee, Outcome

HISTORIES = Path(__file__).parents[2] / "fixtures" / "histories"
GOOD = sorted((HISTORIES / "good").glob("*.jsonl"))
BAD = sorted((HISTORIES / "bad").glob("*/*.jsonl"))


def read(path: Path) -> History:
    return History.decode(path.read_bytes(), str(path))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_history_breaks_nothing(path: Path) -> None:
    history = read(path)
    verdicts = [each(history) for each in guarantees.ALL]
    assert [each for each in verdicts if each.outcome is Outcome.INVALID] == []


@pytest.mark.parametrize("each", guarantees.ALL, ids=lambda each: each.name)
def test_every_guarantee_holds_in_a_good_history(each: Guarantee) -> None:
    verdicts = [each(read(path)) for path in GOOD]
    assert any(verdict.outcome is Outcome.VALID and verdict.judged > 0 for verdict in verdicts)


@pytest.mark.parametrize("path", BAD, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_bad_history_breaks_the_guarantee_it_is_kept_for(path: Path) -> None:
    verdict = guarantees.by_name(path.parent.name.replace("-", " "))(read(path))
    assert verdict.outcome is Outcome.INVALID
    assert verdict.witnesses
    assert verdict.broken >= len(verdict.witnesses)
    for witness in verdict.witnesses:
        assert witness.what
        assert witness.start <= witness.end
    assert any(witness.nodes for witness in verdict.witnesses)  # what was never placed is nowhere


def test_every_guarantee_has_a_bad_history() -> None:
    kept = {path.parent.name.replace("-", " ") for path in BAD}
    assert kept == {each.name for each in guarantees.ALL}


@pytest.mark.parametrize("each", guarantees.ALL, ids=lambda each: each.name)
def test_nothing_to_judge_is_unknown_and_no_pass(each: Guarantee) -> None:
    verdict = each(History([]))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.why.startswith("nothing to judge: ")


@pytest.mark.parametrize("each", guarantees.ALL, ids=lambda each: each.name)
def test_a_guarantee_says_what_it_guarantees(each: Guarantee) -> None:
    assert each.statement.endswith(".")
