"""What Allure and JUnit are told of a run: a real pytest over a story whose run is a saved one."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from stored import about

from stormpool.events import SECOND, Phase
from stormpool.history import History
from stormpool.report.result import Severity, result, severity
from stormpool.verdict import Outcome, Verdict

pytest_plugins = ["pytester"]

HISTORIES = Path(__file__).parents[2] / "fixtures" / "histories"
BAD = HISTORIES / "bad" / "serialized-controller-calls" / "nomad-1.6.0.jsonl"
FILES = {"report.html", "history.jsonl", "verdict.json", "trace.json"}

# In the place of a lab: a cluster that is a saved run, told of as the plugin tells of its own.
CONFTEST = """
import sys
from pathlib import Path

import pytest

sys.path.insert(0, {tests!r})
from stored import about
from stormpool.pytest_plugin import attach
from stormpool.runner import finish
from stormpool.store import RunDirectory


@pytest.fixture
def cluster(request, tmp_path, nomad_version):
    run = RunDirectory.create(tmp_path, "saved")
    told = about(scenario=request.node.nodeid.partition("[")[0])
    told.began_wall = 1_800_000_000 * 10**9
    run.write_about(told)
    run.history.write_bytes(Path({history!r}).read_bytes())
    yield run
    finish(run, told)
    attach(request, run)
"""

STORY = """
from stormpool.guarantees import serialized_controller_calls
from stormpool.judge import judge, must_hold


def test_a_story(cluster):
    must_hold(judge(cluster, cluster.read_history(), [serialized_controller_calls]).verdicts)
"""


@pytest.fixture
def told(pytester: pytest.Pytester) -> Path:
    pytester.makeconftest(CONFTEST.format(tests=str(Path(__file__).parent), history=str(BAD)))
    story = pytester.mkpydir("csi") / "test_story.py"
    story.write_text(STORY)
    done = pytester.runpytest_subprocess(
        "--nomad=1.6.0", "--alluredir=allure", "--junitxml=junit.xml", "-p", "no:cacheprovider", story
    )
    done.assert_outcomes(failed=1)
    return pytester.path


def test_allure_has_suite_severity_steps_parameters_and_files(told: Path) -> None:
    (path,) = (told / "allure").glob("*-result.json")
    test: dict[str, Any] = json.loads(path.read_text())
    labels = {(label["name"], label["value"]) for label in test["labels"]}
    assert {("suite", "csi"), ("severity", "critical")} <= labels
    assert [name for name, _ in labels].count("suite") == 1
    assert test["status"] == "failed"
    parameters = {parameter["name"]: parameter for parameter in test["parameters"]}
    assert parameters["nomad"]["value"] == "1.6.0"
    assert parameters["seed"]["value"] == "7"
    assert parameters["seed"]["excluded"]
    steps = {step["name"]: step for step in test["steps"]}
    assert steps["workload"]["start"] > 1_800_000_000_000
    assert steps["workload"]["stop"] > steps["workload"]["start"]
    assert {each["name"] for each in test["attachments"]} == FILES
    for each in test["attachments"]:
        assert (told / "allure" / each["source"]).stat().st_size > 0


def test_junit_has_the_run_and_every_verdict_as_properties(told: Path) -> None:
    found = ElementTree.parse(told / "junit.xml").findall(".//testcase/properties/property")
    properties = {each.get("name"): each.get("value") for each in found}
    assert properties["serialized controller calls"] == "invalid"
    assert properties["nomad"] == "1.6.0"
    assert properties["seed"] == "7"
    assert Path(properties["run"] or "").name.endswith("-saved")


def judged(**outcomes: Outcome) -> list[Verdict]:
    return [Verdict(name.replace("_", " "), "", outcome, "") for name, outcome in outcomes.items()]


@pytest.mark.parametrize(
    ("verdicts", "error", "expected"),
    [
        (judged(one_writer_a_volume=Outcome.INVALID), "", Severity.BLOCKER),
        (judged(no_acknowledged_write_is_lost=Outcome.INVALID), "", Severity.BLOCKER),
        (judged(lifecycle_order=Outcome.INVALID, one_writer_a_volume=Outcome.VALID), "", Severity.CRITICAL),
        (judged(lifecycle_order=Outcome.UNKNOWN), "", Severity.NORMAL),
        (judged(lifecycle_order=Outcome.VALID), "an agent ended", Severity.NORMAL),
        ([], "", Severity.NORMAL),
        (judged(lifecycle_order=Outcome.VALID), "", Severity.MINOR),
    ],
)
def test_severity_is_what_the_run_has_shown(verdicts: list[Verdict], error: str, expected: Severity) -> None:
    assert severity(about(error=error), verdicts) is expected


def test_the_phase_an_error_ended_is_not_well() -> None:
    phases = ["up", "workload", "down", "done"]
    history = History([Phase(number * SECOND, name) for number, name in enumerate(phases)])
    steps = result(about(error="an agent ended"), history, []).steps
    assert [(step.name, step.start, step.stop, step.well) for step in steps] == [
        ("up", 0, 1000, True),
        ("workload", 1000, 2000, False),
        ("down", 2000, 3000, True),
    ]
