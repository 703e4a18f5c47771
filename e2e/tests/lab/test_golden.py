"""The demonstration: the same story is red on Nomad 1.6.0 and green on 1.6.1, two labs at the same time."""

from pathlib import Path

import pytest

from harness import GOLDEN, CommandLine, Host, results, why_not

pytestmark = pytest.mark.lab


def test_red_on_1_6_0_green_on_1_6_1_in_parallel(stormpool: CommandLine, tmp_path: Path, host: Host) -> None:
    versions = ("--nomad", "1.6.0", "--nomad", "1.6.1", "--parallel", "2")
    done = stormpool("run", GOLDEN, *versions, "--seed", "7", "--out", tmp_path, "--json")
    assert done.returncode == 1, done.stderr
    red, green = sorted(results(done), key=lambda each: each["versions"]["nomad"])
    assert green["outcome"] == "valid", why_not(green)
    assert red["outcome"] == "invalid", why_not(red)
    broken = {each["guarantee"]: each for each in red["verdicts"] if each["outcome"] == "invalid"}
    assert set(broken) == {"serialized controller calls"}
    witness = broken["serialized controller calls"]["witnesses"][0]
    assert len(witness["rpcs"]) == 2
    assert red["replay"] == f"stormpool run {red['scenario']} --nomad 1.6.0 --seed 7"
    for result in (red, green):
        run = Path(result["run"])
        assert {path.name for path in run.iterdir()} == {
            "history.jsonl",
            "logs",
            "report.html",
            "run.json",
            "script.json",
            "trace.json",
            "verdict.json",
        }
        assert stormpool("check", run, "--json").returncode == (1 if result is red else 0)
    assert host.left() == set()


def test_the_lowest_healthy_controller_is_not_asked_on_1_6_1(stormpool: CommandLine, tmp_path: Path) -> None:
    story = "scenarios/csi/test_calls_go_to_the_lowest_healthy_controller.py"
    done = stormpool("run", story, "--nomad", "1.6.1", "--out", tmp_path, "--json")
    assert done.returncode == 1, done.stderr
    (result,) = results(done)
    assert [each["guarantee"] for each in result["verdicts"]] == ["lowest healthy controller"]
