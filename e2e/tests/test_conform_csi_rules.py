"""What is known of the rules for CSI plugins without a plugin."""

import subprocess
import sys
from pathlib import Path

import pytest

from stormpool.conform.csi import crashes, life, rules, sanity
from stormpool.conform.results import Outcome
from stormpool.conform.rule import table

PAGE = Path(__file__).parents[2] / "docs" / "conform.md"
NO_NODE_STAGE = ("CreateVolume", "NodePublishVolume")


def conform(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from stormpool.cli import main; main()", "conform", "csi", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_page_has_every_rule() -> None:
    assert table(rules.ALL) in PAGE.read_text()


def test_names_are_the_rules_own() -> None:
    names = [each.name for each in rules.ALL]
    assert len(set(names)) == len(names)
    assert all(each.statement for each in rules.ALL)


def test_how_far_a_volume_is_before_and_after_a_call() -> None:
    assert [life.before(method, life.UP) for method in life.ALL] == [0, 1, 2, 3, 4, 3, 2, 1]
    assert [life.after(method, life.UP) for method in life.ALL] == [1, 2, 3, 4, 3, 2, 1, 0]
    assert life.before("NodeUnpublishVolume", NO_NODE_STAGE) == 2
    assert life.DOWN[0] == life.UNDONE_BY[life.UP[-1]]


def test_moments_fill_a_call_evenly() -> None:
    assert [crashes.fraction(number) for number in range(6)] == [0, 0.5, 0.25, 0.75, 0.125, 0.625]
    assert len({crashes.fraction(number) for number in range(crashes.MOST)}) == crashes.MOST


REPORT = """<testsuites><testsuite>
  <testcase name="[BeforeSuite]" status="passed" time="0.1"/>
  <testcase name="[It] Probe should answer" status="passed" time="0.25"/>
  <testcase name="[It] Stage should fail" status="failed" time="0">
    <failure message="got&#xA;nil"/></testcase>
  <testcase name="[It] List should work" status="skipped" time="0">
    <skipped message="skipped - no"/></testcase>
  <testcase name="[It] List should last" status="failed" time="0">
    <failure message="resource cleanup failed: umount"/></testcase>
  <testcase name="[It] Publish" status="panicked" time="0"/>
  <testcase name="[AfterSuite]" status="failed" time="0"><failure message="no"/></testcase>
</testsuite></testsuites>"""


def test_the_cases_of_csi_sanity() -> None:
    told = [
        (case.rule.removeprefix("csi-sanity: "), case.outcome, case.words) for case in sanity.cases(REPORT)
    ]
    assert told == [
        ("Probe should answer", Outcome.PASSED, ""),
        ("Stage should fail", Outcome.BROKEN, "got nil"),
        ("List should work", Outcome.NOT_OFFERED, "skipped - no"),
        ("List should last", Outcome.NOT_JUDGED, "resource cleanup failed: umount"),
        ("Publish", Outcome.NOT_JUDGED, ""),
        ("[AfterSuite]", Outcome.NOT_JUDGED, "no"),
    ]


def test_rules_are_listed_with_their_sources() -> None:
    done = conform("--list", "--rule", "at once: CreateVolume", "--rule", "repeated: DeleteVolume")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "repeated: DeleteVolume  [DeleteVolume: idempotent (MUST)]",
        "at once: CreateVolume  [Concurrency (SHOULD); Error Scheme: ABORTED]",
    ]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), "no plugin is named"),
        (("--plugin", "it", "--rule", "sing"), "no rule is named 'sing'"),
        (("--plugin", "it", "--except", "sing"), "no rule is named 'sing'"),
        (("--plugin", "it", "--parameters", "kind"), "'kind' has no value"),
        (("--plugin", "it", "--secrets", "/nowhere"), "no secrets are in /nowhere"),
        (("--plugin", "it 'that"), "cannot be split into words"),
    ],
)
def test_misuse(argv: tuple[str, ...], says: str) -> None:
    done = conform(*argv)
    assert done.returncode == 64
    assert says in done.stderr
