"""Bundles: what is in them is what they say; all that they would execute is said. Agents given by path."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from stored import about

from stormpool import faults, given, nemesis, target
from stormpool.again import bundle, consent, replay
from stormpool.again.reproduction import Original
from stormpool.errors import Misuse
from stormpool.lab import CsiPlugin, Lab
from stormpool.nemesis import Plan
from stormpool.run import About, Program
from stormpool.script import Act, Script, encode
from stormpool.store import RunDirectory

STORY = "from stormpool.lab import Lab\nLAB = Lab()\ndef test_it(cluster): pass\n"
CLEAR = "\x1b[2J"  # what clears a terminal
ZFS = CsiPlugin(id="zfs", argv=("python", CLEAR))


def saved(
    tmp_path: Path, plan: Plan | None = None, lab: Lab | None = None, said: About | None = None
) -> Path:
    """The directory of a run."""
    story = tmp_path / "test_story.py"
    story.write_text(STORY)
    run = RunDirectory.create(tmp_path, "run")
    told = said or about()
    told.scenario = f"{story}::test_it"
    run.write_about(told)
    run.history.write_bytes(b"")
    run.script.write_bytes(encode(Script(lab or Lab(), (Act((), plan or Plan(), 1.0),))))
    return run.path


def packed(tmp_path: Path, run: Path) -> Path:
    return bundle.pack(RunDirectory.existing(run), tmp_path / "a.stormpool.zip")


def forged(tmp_path: Path, files: dict[str, str], **manifest: Any) -> Path:
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    told = {"scenario": "a.py::test_it", "file": "a.py", "stormpool": "0", "sha256": sums, **manifest}
    path = tmp_path / "forged.stormpool.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("manifest.json", json.dumps(told))
        for name, text in files.items():
            made.writestr(name, text)
    return path


def test_what_comes_of_a_bundle_has_its_scenario_for_good(tmp_path: Path) -> None:
    path = packed(tmp_path, saved(tmp_path))
    (tmp_path / "test_story.py").unlink()
    out = tmp_path / "out"
    how = replay.How(1, out, yes=True, as_json=True)
    original = replay.original(path, how)
    scenario = Path(original.about.scenario.partition("::")[0])
    assert scenario.read_text() == STORY
    assert scenario.is_relative_to(out)
    assert replay.original(path, how).about.scenario == original.about.scenario  # unpacked once
    assert [each.name for each in out.iterdir()] == [original.directory.path.name]


def test_a_scenario_outside_of_the_bundle_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(STORY)
    for file in (str(outside), "../../outside.py", "a.py"):
        path = forged(tmp_path, {"a.py": STORY}, file=file, sha256={})
        with pytest.raises(Misuse, match="not as it was packed"):
            bundle.unpack(path, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_files_that_the_bundle_does_not_name_are_refused(tmp_path: Path) -> None:
    sums = {"a.py": hashlib.sha256(STORY.encode()).hexdigest()}
    path = forged(tmp_path, {"a.py": STORY, "b.py": "print()"}, sha256=sums)
    with pytest.raises(Misuse, match=r"b\.py is not what the bundle says"):
        bundle.unpack(path, tmp_path / "out")


def test_all_that_would_be_executed_is_said_and_cannot_act(tmp_path: Path) -> None:
    plan = nemesis.at(1.0, faults.ChangeAgent(target.leader(), "1.10.5"))
    plan += nemesis.at(1.0, faults.MisconfigurePlugin("zfs", ("sleep", "inf")))
    said = about()
    said.versions["nomad"] = f"1.6.1{CLEAR}"
    path = packed(tmp_path, saved(tmp_path, plan, Lab(plugins=[ZFS]), said))
    lines = consent.executed(bundle.unpack(path, tmp_path / "out"))
    assert "test_story.py (3 lines)" in lines[0]
    assert lines[1:] == [
        "the agent: nomad 1.6.1⟨001B⟩[2J",
        "plugin zfs, as the scenario says; there it was: python ⟨001B⟩[2J",
        "an agent that is changed: nomad 1.10.5",
        "on a node, in the place of a plugin: ['sleep', 'inf']",
    ]


@pytest.mark.parametrize("where", ["program", "version", "fault"])
def test_programs_by_path_are_not_run_from_a_bundle(tmp_path: Path, where: str) -> None:
    said, plan = about(), Plan()
    if where == "program":
        said.programs["nomad"] = Program("/bin/rm", "0")
    elif where == "version":
        said.versions["nomad"] = "/bin/rm"
    else:
        plan = nemesis.at(1.0, faults.ChangeAgent(target.leader(), "/bin/rm"))
    run = saved(tmp_path, plan, said=said)
    with pytest.raises(Misuse, match="an agent of its own, /bin/rm"):
        packed(tmp_path, run)
    files = {each.name: each.read_text() for each in run.iterdir() if each.is_file()}
    path = forged(tmp_path, {**files, "a.py": STORY})
    with pytest.raises(Misuse, match="an agent of its own, /bin/rm"):
        consent.executed(bundle.unpack(path, tmp_path / "out"))


def test_a_bundle_whose_directory_was_changed_is_unpacked_anew(tmp_path: Path) -> None:
    path = packed(tmp_path, saved(tmp_path))
    found = bundle.unpack(path, tmp_path / "out")
    whole = {each: each.read_bytes() for each in found.run.rglob("*") if each.is_file()}
    RunDirectory(found.run).write_about(about())  # as `stormpool check` does
    found.source.unlink()
    assert bundle.unpack(path, tmp_path / "out") == found
    assert whole == {each: each.read_bytes() for each in found.run.rglob("*") if each.is_file()}
    assert list((tmp_path / "out").iterdir()) == [found.run]


def test_plugins_that_the_scenario_does_not_have_are_not_run(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no plugin zfs"):
        Original.read(saved(tmp_path, lab=Lab(plugins=[ZFS])))


def test_an_agent_given_by_path_is_run_again_only_as_it_was(tmp_path: Path) -> None:
    nomad, said = tmp_path / "nomad", about()
    nomad.write_text("#!/bin/sh\necho Nomad v1.6.1\n")
    said.programs["nomad"] = given.program(nomad)
    run = saved(tmp_path, said=said)
    assert Original.read(run).worker_argv[1] == str(nomad)
    nomad.write_text("#!/bin/sh\necho Nomad v1.6.2\n")
    with pytest.raises(Misuse, match="not the program that the run was made with"):
        Original.read(run)
    nomad.unlink()
    with pytest.raises(Misuse, match="not there any more"):
        Original.read(run)
