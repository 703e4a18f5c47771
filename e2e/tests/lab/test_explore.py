"""Explore, replay, shrink and bundle, by the command line, on real agents."""

import json
import zipfile
from pathlib import Path

import pytest

from harness import CommandLine

pytestmark = pytest.mark.lab

STORY = '''
from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi

LAB = Lab(servers=1, clients=2, plugins=[csi.zfs()])


def test_attach(cluster: Cluster) -> None:
    volumes = cluster.create_volumes(1)
    cluster.run(workloads.attach_detach(volumes, per_volume=1, timeout=15), settle=10).must_satisfy(
        guarantees.lifecycle_order, guarantees.claims_match_reality
    )


def test_three_faults(cluster: Cluster) -> None:
    """Only the second of them matters: 1.6.1 asks for the detach again and again, without a pause."""
    volumes = cluster.create_volumes(2)
    history = cluster.run(
        workloads.attach_detach(volumes, per_volume=1, timeout=15),
        nemesis.on(rpc("NodeStageVolume").before, faults.DelayCall(0.2))
        + nemesis.on(
            rpc("ControllerUnpublishVolume", volume="vol1").every.within(5.0).before, faults.FailCall(code=13)
        )
        + nemesis.at(0.1, faults.CollectGarbage()),
        settle=10,
    )
    history.must_satisfy(guarantees.progress)
'''


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "test_story.py"
    path.write_text(STORY)
    return path


def lines(said: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in said.splitlines()]


def test_every_point_of_one_fault_is_tried_and_a_stop_is_resumed(
    stormpool: CommandLine, story: Path, tmp_path: Path
) -> None:
    asked = (f"{story}::test_attach", "--nomad", "1.6.1", "--fault", "copy", "--fault", "lose")
    first = stormpool("explore", *asked, "--budget", "12s", "--out", tmp_path / "out", "--json")
    *tried, summary = lines(first.stdout)
    assert 0 < len(tried) < int(str(summary["points"])), first.stdout + first.stderr
    directory = str(summary["exploration"])
    rest = stormpool("explore", "--resume", directory, "--parallel", "2", "--json")
    *more, summary = lines(rest.stdout)
    assert summary["tried"] == summary["points"] == len(tried) + len(more)
    assert {each["point"] for each in tried}.isdisjoint(each["point"] for each in more)
    # Nomad asks twice to unpublish, milliseconds apart, and the workload is over at about the second: whether
    # that is a call of the workload is another thing in each run.
    reached = [each for each in (*tried, *more) if "ControllerUnpublishVolume#2" not in str(each["point"])]
    assert {each["outcome"] for each in reached} <= {"valid", "invalid"}, rest.stdout
    assert any(float(str(each["reset"])) >= 0 for each in more)  # a lab was used again


def test_a_red_run_is_replayed_bundled_and_made_smaller(
    stormpool: CommandLine, story: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    red = stormpool(
        "run", f"{story}::test_three_faults", "--nomad", "1.6.1", "--seed", "1", "--out", out, "--json"
    )
    (result,) = lines(red.stdout)
    assert result["outcome"] == "invalid", red.stdout

    file = tmp_path / "report.stormpool.zip"
    packed = stormpool("bundle", str(result["run"]), "--to", file)
    assert packed.returncode == 0, packed.stderr
    assert {"manifest.json", "run.json", "script.json", "history.jsonl", "scenario/test_story.py"} <= set(
        zipfile.ZipFile(file).namelist()
    )
    story.unlink()  # as on another machine
    refused = stormpool("replay", file, "--out", out)
    assert refused.returncode == 64
    assert "--yes" in refused.stderr
    assert "the scenario, Python" in refused.stderr
    again = stormpool("replay", file, "--yes", "--repeat", "2", "--parallel", "2", "--out", out, "--json")
    (replayed,) = lines(again.stdout)
    assert (replayed["runs"], replayed["reproduced"]) == (2, 2), again.stdout + again.stderr

    shrunk = stormpool("shrink", file, "--yes", "--tries", "1", "--out", out, "--json", timeout=600)
    (made,) = lines(shrunk.stdout)
    assert made["after"] == {"faults": 1, "steps": 1, "nodes": 2}, shrunk.stdout + shrunk.stderr
    assert Path(str(made["smallest"])).is_dir()


def test_a_bundle_that_was_changed_is_refused(stormpool: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "bad.stormpool.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(
            "manifest.json", '{"scenario":"a.py::b","file":"a.py","stormpool":"0","sha256":{"a.py":"0"}}'
        )
        packed.writestr("a.py", "print('hello')")
    refused = stormpool("replay", file, "--yes")
    assert refused.returncode == 64
    assert "not as it was packed" in refused.stderr
