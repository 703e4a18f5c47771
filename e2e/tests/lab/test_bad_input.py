"""Bad input ends in one clear message, the right exit code, a run that tells the story, and a clean host."""

import json
from pathlib import Path

import pytest

from harness import GOLDEN, CommandLine, Host, results

pytestmark = pytest.mark.lab

BIG = "LAB = Lab(clients=99, pool_mib=4096)\ndef test_it(cluster): pass\n"
HEAD = "from stormpool.lab import Lab, CsiPlugin\nfrom stormpool.plugins import csi\n"


def run(stormpool: CommandLine, tmp_path: Path, body: str) -> tuple[int, dict[str, str]]:
    story = tmp_path / "test_story.py"
    story.write_text(HEAD + body)
    done = stormpool("run", story, "--out", tmp_path / "runs", "--json")
    (result,) = results(done)
    assert Path(result["run"], "report.html").exists()
    assert json.loads(Path(result["run"], "run.json").read_text())["error"] == result["error"]
    return done.returncode, result


def test_an_unknown_version(stormpool: CommandLine, tmp_path: Path, host: Host) -> None:
    done = stormpool("run", GOLDEN, "--nomad", "9.9.9", "--out", tmp_path, "--json")
    assert done.returncode == 64
    (result,) = results(done)
    assert "no Nomad '9.9.9' is known" in result["error"]
    assert "fix:" in result["error"]
    assert Path(result["run"], "run.json").exists()
    assert host.left() == set()


def test_a_lab_that_asks_for_more_than_the_host_has(
    stormpool: CommandLine, tmp_path: Path, host: Host
) -> None:
    code, result = run(
        stormpool, tmp_path, "LAB = Lab(clients=99, pool_mib=4096)\ndef test_it(cluster): pass\n"
    )
    assert code == 64
    assert "MiB of memory" in result["error"]
    assert host.left() == set()


def test_a_job_with_an_error(stormpool: CommandLine, tmp_path: Path, host: Host) -> None:
    job = "{'ID': 'bad', 'Name': 'bad', 'Type': 'service', 'Datacenters': ['dc1'], 'TaskGroups': []}"
    code, result = run(stormpool, tmp_path, f"LAB = Lab()\ndef test_it(cluster): cluster.submit({job})\n")
    assert code == 64
    assert "Missing job task groups" in result["error"]
    assert host.left() == set()


def test_a_job_file_with_an_error(stormpool: CommandLine, tmp_path: Path, host: Host) -> None:
    file = tmp_path / "bad.nomad.hcl"
    file.write_text('job "bad" {\n  grop "x" {}\n}\n')
    code, result = run(
        stormpool, tmp_path, f"LAB = Lab()\ndef test_it(cluster): cluster.submit_file({str(file)!r})\n"
    )
    assert code == 64
    assert "bad.nomad.hcl" in result["error"]
    assert "grop" in result["error"]
    assert host.left() == set()


def test_a_plugin_that_never_gets_ready(stormpool: CommandLine, tmp_path: Path, host: Host) -> None:
    body = (
        "LAB = Lab(plugins=[csi.zfs(mutant='never_ready', health_timeout=6)])\ndef test_it(cluster): pass\n"
    )
    code, result = run(stormpool, tmp_path, body)
    assert code == 70
    assert "plugin zfs never got ready" in result["error"]
    assert "did not become healthy" in result["error"]
    assert host.left() == set()


def test_a_plugin_that_cannot_be_started(stormpool: CommandLine, tmp_path: Path, host: Host) -> None:
    body = (
        "LAB = Lab(plugins=[CsiPlugin(id='mine', argv=('/nowhere/plugin',), health_timeout=5)])\n"
        "def test_it(cluster): pass\n"
    )
    code, result = run(stormpool, tmp_path, body)
    assert code == 70
    assert "/nowhere/plugin" in result["error"]
    assert host.left() == set()


def test_a_socket_path_that_is_too_long(stormpool: CommandLine, tmp_path: Path) -> None:
    story = tmp_path / "test_story.py"
    story.write_text(HEAD + f"LAB = Lab(data_dir='/var/{'n' * 70}')\ndef test_it(cluster): pass\n")
    done = stormpool("run", story, "--out", tmp_path / "runs")
    assert done.returncode == 64
    assert "a unix socket's path ends at 107" in done.stdout
