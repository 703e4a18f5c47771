"""What came of each rule, and of all of them: for people, as JSON lines, as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    """Only a pass is a pass: what is not offered was not tried, what is not judged may be broken."""

    PASSED = "passed"
    BROKEN = "broken"
    NOT_OFFERED = "not offered"
    NOT_JUDGED = "not judged"


class Result(msgspec.Struct, frozen=True):
    """What came of one rule."""

    rule: str
    statement: str
    source: str
    outcome: Outcome
    seconds: float
    words: str = ""  # what was seen, or why it was not judged


EXIT_CODES = {Outcome.BROKEN: 1, Outcome.NOT_JUDGED: 2}  # the first that occurs; else 0
INDENT = " " * 22  # below the names of rules
JUNIT = {Outcome.BROKEN: "failure", Outcome.NOT_OFFERED: "skipped", Outcome.NOT_JUDGED: "error"}


def exit_code(results: Sequence[Result]) -> int:
    """0 when nothing is broken and all was judged that is offered, else 1 or 2."""
    seen = {result.outcome for result in results}
    return next((code for outcome, code in EXIT_CODES.items() if outcome in seen), 0)


def table(results: Sequence[Result]) -> str:
    """All of them, and how many came to what."""
    return "\n".join([*map(told, results), counted(results)]) + "\n"


def told(result: Result) -> str:
    """A line of a rule, with what is to be said of it below."""
    shown = result.outcome.upper() if result.outcome is Outcome.BROKEN else result.outcome
    lines = [f"{shown:11} {result.seconds:6.1f} s  {result.rule}"]
    if result.outcome is Outcome.BROKEN:
        lines.append(f"{INDENT}{f'{result.statement} [{result.source}]'.strip()}")
    return "\n".join([*lines, *(f"{INDENT}{line.strip()}" for line in result.words.splitlines())])


def counted(results: Sequence[Result]) -> str:
    """How many came to what, in how long."""
    counts = Counter(result.outcome for result in results)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    return f"{len(results)} rules in {sum(result.seconds for result in results):.1f} s: {told or 'none'}"


def json_line(result: Result) -> str:
    """One result as JSON."""
    return msgspec.json.encode(result).decode()


def junit(results: Sequence[Result], name: str) -> str:
    """All as a JUnit test suite: broken is a failure, not offered is skipped, not judged is an error."""
    counts = Counter(JUNIT.get(result.outcome, "") for result in results)
    suite = ET.Element(
        "testsuite",
        name=name,
        tests=str(len(results)),
        failures=str(counts["failure"]),
        errors=str(counts["error"]),
        skipped=str(counts["skipped"]),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ET.SubElement(
            suite, "testcase", classname=name, name=result.rule, time=f"{result.seconds:.3f}"
        )
        if result.outcome in JUNIT:
            told = ET.SubElement(case, JUNIT[result.outcome], message=_printable(result.words))
            told.text = _printable(f"{result.statement} [{result.source}]")
        elif result.words:
            ET.SubElement(case, "system-out").text = _printable(result.words)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """A plugin's words without the characters that XML cannot have (XML 1.0, 2.2)."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
