"""Rules are judged one after another; only a pass is a pass, and what a rule leaves behind is told."""

import json
import xml.etree.ElementTree as ET
from typing import Self

import pytest

from stormpool.conform import results, suite
from stormpool.conform.results import Outcome, Result
from stormpool.conform.rule import Broken, Cases, NotOffered, Rule, picked, rule, table
from stormpool.errors import MachineError, Misuse


class Bench:
    """A bench that rules write on."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.ruined = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tidy(self) -> list[str]:
        left, self.written = self.written, []
        return left


@rule(source="Section 1")
def it_holds(_: Bench) -> str:
    """What holds, holds.

    Nothing else is said.
    """
    return "in 3 ms"


@rule(source="Section 2", of="Write")
def it_is_clean(bench: Bench) -> None:
    """What is written is wiped."""
    bench.written.append("a word")


@rule(source="Section 2", of="Read")
def it_is_clean_again(_: Bench) -> None:
    """What is broken is told of."""
    raise Broken("read 3, not 4")


@rule(source="Section 3")
def it_can(_: Bench) -> None:
    """What is not offered is not tried."""
    raise NotOffered("CAN is not offered")


@rule(source="Section 4")
def it_answers(_: Bench) -> None:
    """What cannot be judged is no pass."""
    raise MachineError("nobody answers")


RULES: list[Rule[Bench]] = [it_holds, it_is_clean, it_is_clean_again, it_can, it_answers]


def judged() -> list[Result]:
    return list(suite.run(RULES, Bench))


def test_a_rule_is_named_and_stated_by_its_function() -> None:
    assert (it_holds.name, it_holds.statement) == ("it holds", "What holds, holds.")
    assert (it_is_clean.name, it_is_clean.family) == ("it is clean: Write", "it is clean")


def test_a_rule_has_a_source() -> None:
    with pytest.raises(ValueError, match="has no source"):
        Rule("sourceless", "", it_holds.check)


def test_what_comes_of_rules() -> None:
    assert [result.outcome for result in judged()] == [
        Outcome.PASSED,
        Outcome.PASSED,
        Outcome.BROKEN,
        Outcome.NOT_OFFERED,
        Outcome.NOT_JUDGED,
    ]


def test_words_tell_what_was_seen_and_what_was_left() -> None:
    assert [result.words for result in judged()] == [
        "in 3 ms",
        "left behind: a word",
        "read 3, not 4",
        "CAN is not offered",
        "MachineError: nobody answers",
    ]


def test_rules_that_a_program_judges() -> None:
    said = Result("other: 1", "", "theirs", Outcome.PASSED, 0.1)
    assert list(suite.run([Cases("other", "theirs", lambda _: [said])], Bench)) == [said]


def test_a_program_that_cannot_be_run() -> None:
    def none(_: Bench) -> list[Result]:
        """What the program says."""
        raise MachineError("no such program")

    (only,) = suite.run([Cases("other", "theirs", none)], Bench)
    assert (only.rule, only.outcome, only.statement) == (
        "other",
        Outcome.NOT_JUDGED,
        "What the program says.",
    )


def test_a_program_that_judges_what_is_not_offered() -> None:
    def none(_: Bench) -> list[Result]:
        """What the program says."""
        raise NotOffered("a node service is not offered")

    (only,) = suite.run([Cases("other", "theirs", none)], Bench)
    assert (only.outcome, only.words) == (Outcome.NOT_OFFERED, "a node service is not offered")


def test_a_rule_that_ruins_the_bench_costs_a_new_one() -> None:
    benches: list[Bench] = []

    def set_up() -> Bench:
        benches.append(Bench())
        return benches[-1]

    @rule(source="Section 5")
    def it_stays(bench: Bench) -> None:
        """Nothing is ruined."""
        bench.ruined = True

    assert [result.outcome for result in suite.run([it_stays, it_holds, it_can], set_up)][1] is Outcome.PASSED
    assert len(benches) == 2


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([Outcome.PASSED, Outcome.NOT_OFFERED], 0),
        ([Outcome.PASSED, Outcome.NOT_JUDGED], 2),
        ([Outcome.NOT_JUDGED, Outcome.BROKEN], 1),
    ],
)
def test_the_exit_code_is_the_worst(outcomes: list[Outcome], code: int) -> None:
    assert results.exit_code([Result("", "", "", outcome, 0.0) for outcome in outcomes]) == code


def test_rules_are_picked_by_name_or_family() -> None:
    assert picked(RULES, []) == RULES
    assert picked(RULES, ["it is clean"]) == [it_is_clean]
    assert picked(RULES, ["it is clean: Write", "it can"]) == [it_is_clean, it_can]
    assert it_can not in picked(RULES, [], ["it can"])
    with pytest.raises(Misuse, match="no rule is named 'sing'"):
        picked(RULES, ["sing"])


def test_the_table_for_people() -> None:
    told = results.table(judged())
    assert "BROKEN" in told
    assert "What is broken is told of. [Section 2]" in told
    assert told.splitlines()[-1].endswith("2 passed, 1 broken, 1 not offered, 1 not judged")


def test_a_result_as_json() -> None:
    assert json.loads(results.json_line(judged()[2]))["outcome"] == "broken"


def test_junit_tells_what_is_no_pass_apart() -> None:
    told = ET.fromstring(results.junit([*judged(), Result("bell", "", "", Outcome.BROKEN, 0.0, "\a")], "csi"))
    assert (told.get("tests"), told.get("failures")) == ("6", "2")
    assert (told.get("errors"), told.get("skipped")) == ("1", "1")
    assert [child.tag for case in told for child in case] == [
        "system-out",
        "system-out",
        "failure",
        "skipped",
        "error",
        "failure",
    ]


def test_the_table_of_rules_has_a_line_a_family() -> None:
    said = table(RULES)
    assert "| *it is clean* | Write | What is written is wiped. | Section 2 |" in said
    assert len(said.splitlines()) == 2 + 5
