"""The command line on saved runs: exit codes, JSON, and one clear message for bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stored import about

from stormpool.again import replay
from stormpool.lab import Lab
from stormpool.nemesis import Plan
from stormpool.scenarios import Result, exit_code
from stormpool.script import Act, Script, encode
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome, Verdict

HISTORIES = Path(__file__).parents[2] / "fixtures" / "histories"
GOOD = HISTORIES / "good" / "nomad-1.10.5-read-back.jsonl"
BAD = HISTORIES / "bad" / "serialized-controller-calls" / "nomad-1.6.0.jsonl"


def stormpool(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from stormpool.cli import main; main()", *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def saved(tmp_path: Path, history: bytes) -> Path:
    run = RunDirectory.create(tmp_path, "saved")
    run.write_about(about(guarantees=("serialized controller calls",)))
    run.history.write_bytes(history)
    return run.path


def test_a_good_run_ends_with_0(tmp_path: Path) -> None:
    done = stormpool("check", saved(tmp_path, GOOD.read_bytes()))
    assert done.returncode == 0
    assert "held *serialized controller calls*" in done.stdout


def test_a_bad_run_ends_with_1_and_a_witness(tmp_path: Path) -> None:
    done = stormpool("check", saved(tmp_path, BAD.read_bytes()), "--json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert result["outcome"] == "invalid"
    assert result["seed"] == 7
    verdict = result["verdicts"][0]
    assert verdict["guarantee"] == "serialized controller calls"
    witness = verdict["witnesses"][0]
    assert len(witness["rpcs"]) == 2
    assert witness["start"] < witness["end"]
    assert Path(result["run"]).is_dir()
    assert Path(result["report"]).exists()


def test_a_run_with_nothing_to_judge_ends_with_2(tmp_path: Path) -> None:
    assert stormpool("check", saved(tmp_path, b'{"kind":"phase","t":0,"name":"up"}\n')).returncode == 2


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("check", "/nowhere"), "/nowhere is no run"),
        (("run", "nowhere.py"), "no scenario is at nowhere.py"),
        (("run",), "Missing argument"),
        (("sing",), "No such command"),
        (("build", "9.9.9"), "no Nomad '9.9.9' is known"),
        (("exec", "client1", "true", "--lab", "nolab"), "no such lab is up"),
        (("explore",), "nothing to explore"),
        (("leaks", "/nowhere"), "/nowhere is no run"),
        (("explore", "--resume", "/nowhere"), "no exploration is in /nowhere"),
        (("explore", "--resume", "/nowhere", "--pairs"), "--pairs does not go with --resume"),
        (("explore", "--resume", "/nowhere", "--seed", "0"), "--seed does not go with --resume"),
        (("explore", "story.py", "--fault", "sing"), "'sing' is not one of"),
    ],
)
def test_misuse_ends_with_64_and_one_message(argv: tuple[str, ...], says: str) -> None:
    done = stormpool(*argv)
    assert done.returncode == 64
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_corrupted_history_is_misuse_and_says_the_line(tmp_path: Path) -> None:
    done = stormpool("check", saved(tmp_path, BAD.read_bytes() + b"{not json\n"))
    assert done.returncode == 64
    assert "is no event" in done.stderr
    assert f"line {len(BAD.read_bytes().splitlines()) + 1}" in done.stderr


def test_what_nobody_foresaw_is_no_breach(tmp_path: Path) -> None:
    run = saved(tmp_path, GOOD.read_bytes())
    (run / "verdict.json").write_text("half of")
    done = stormpool("check", run)
    assert done.returncode == 70
    assert "stormpool: unforeseen: " in done.stderr


@pytest.mark.parametrize(("reproduced", "failed", "code"), [(20, 0, 0), (1, 3, 0), (0, 3, 2), (0, 20, 70)])
def test_a_replay_ends_with_0_when_it_showed_the_same_at_least_once(
    reproduced: int, failed: int, code: int
) -> None:
    others = {"valid": 20 - reproduced - failed}
    assert replay.exit_code(replay.Replayed("run", [], 20, reproduced, failed, others, [])) == code


@pytest.mark.parametrize("command", ["replay", "shrink"])
def test_a_run_that_cannot_be_run_again_says_why_and_ends_with_70(tmp_path: Path, command: str) -> None:
    story = tmp_path / "test_story.py"
    story.write_text("from stormpool.lab import Lab\nLAB = Lab()\ndef test_it(cluster): pass\n")
    run = RunDirectory.create(tmp_path, "run")
    said = about(scenario=f"{story}::test_it")
    said.provider = "nowhere"  # which ends a worker before it brings a lab up
    run.write_about(said)
    run.history.write_bytes(b"")
    run.script.write_bytes(encode(Script(Lab(), (Act((), Plan(), 1.0),))))
    run.write_verdicts([Verdict("progress", "", Outcome.INVALID, "it broke")])
    done = stormpool(command, run.path, "--out", tmp_path / "out")
    assert done.returncode == 70
    assert "could not be run: the worker ended with 1" in done.stderr
    assert "no provider is named 'nowhere'" in done.stderr


def test_a_lab_that_needs_what_its_provider_lacks_is_skipped_before_it_begins(tmp_path: Path) -> None:
    story = tmp_path / "test_story.py"
    story.write_text(
        "from stormpool.capability import Capability\n"
        "from stormpool.lab import Lab\n"
        "LAB = Lab(needs=frozenset({Capability.OPENZFS}))\n"
        "def test_it(cluster): pass\n"
    )
    done = stormpool("run", story, "--out", tmp_path / "runs", "--json")
    assert done.returncode == 2
    said = json.loads(done.stdout)
    assert (said["outcome"], said["verdicts"]) == ("skipped", [])
    assert "needs nodes that keep pools in OpenZFS, as a kernel has it; those of netns" in said["error"]
    assert "run it with --provider vagrant" in said["error"]
    assert "up" not in said["timings"]


def result(outcome: str) -> Result:
    return Result(
        scenario="a.py",
        versions={},
        seed=0,
        outcome=outcome,
        verdicts=[],
        timings={},
        run="",
        report="",
        replay="",
    )


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (("valid", "valid"), 0),
        (("valid", "skipped"), 2),
        (("skipped",), 2),
        (("valid", "unknown", "skipped"), 2),
        (("skipped", "machine"), 70),
        (("skipped", "invalid", "machine"), 1),
        ((), 2),
    ],
)
def test_runs_end_with_0_only_when_all_held(outcomes: tuple[str, ...], code: int) -> None:
    assert exit_code([result(outcome) for outcome in outcomes]) == code


def test_a_file_that_holds_nothing_is_told_and_the_others_are_run(tmp_path: Path) -> None:
    empty, slip = tmp_path / "test_empty.py", tmp_path / "test_slip.py"
    empty.write_text("")
    slip.write_text("import nothing_of_that_name\n")
    done = stormpool("run", empty, slip, "--nomad", "1.6.1", "--json")
    assert done.returncode == 64
    told = {each["scenario"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {name: each["outcome"] for name, each in told.items()} == {
        str(empty): "misuse",
        str(slip): "misuse",
    }
    assert "nothing_of_that_name" in told[str(slip)]["error"]


DESIGN = b'{"kind":"design","t":1,"name":"mine","jobs":"storm-mine-","datasets":"tank/mine/"}\n'


def test_leaks_are_a_table(tmp_path: Path) -> None:
    runs = [saved(tmp_path / name, DESIGN) for name in ("one", "other")]
    page = tmp_path / "leaks.html"
    done = stormpool("leaks", *runs, "--html", page)
    assert done.returncode == 0, done.stderr
    assert "| saved | mine | 2 | 0 | 0 of 0 |" in done.stdout
    assert "<td>mine" in page.read_text()
    (cell,) = json.loads(stormpool("leaks", *runs, "--json").stdout)
    assert (cell["design"], cell["runs"]) == ("mine", 2)


def test_leaks_of_a_run_without_designs_are_left_out(tmp_path: Path) -> None:
    without, one = saved(tmp_path / "without", GOOD.read_bytes()), saved(tmp_path / "one", DESIGN)
    done = stormpool("leaks", without, one)
    assert done.returncode == 0
    assert "| saved | mine | 1 |" in done.stdout
    assert "tells of no design" in done.stderr
    assert stormpool("leaks", without).returncode == 64


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            '{"kind":"fault","t":1,"id":0,"name":"KillAgent","step":"planned"}',
            "fault 0 KillAgent never happened",
        ),
        ('{"kind":"books","t":1,"claims":{},"allocs":[],"settled_in":-1.0}', "its tasks had not all ended"),
    ],
)
def test_leaks_of_a_run_that_tells_nothing_of_its_event_are_left_out(
    tmp_path: Path, line: str, why: str
) -> None:
    done = stormpool("leaks", saved(tmp_path / "run", DESIGN + line.encode() + b"\n"))
    assert done.returncode == 64
    assert why in done.stderr
