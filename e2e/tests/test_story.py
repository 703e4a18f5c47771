"""Scenarios as functions: loaded once, with faults and workloads of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from stormpool import faults, nemesis, script
from stormpool.errors import Misuse
from stormpool.lab import CsiPlugin, Lab
from stormpool.script import Act, Script
from stormpool.workers import story

STORY = """
from stormpool.faults.fault import Fault
from stormpool.lab import Lab
from stormpool.workloads import Workload

LAB = Lab()


class {name}(Fault, frozen=True):
    def inject(self, scene):
        return "nothing"


class Wait(Workload, frozen=True):
    def act(self, cluster, seed):
        pass


def test_it(cluster):
    cluster.run(Wait(), {name}())
"""


def of(tmp_path: Path, name: str = "BreakNothing") -> Path:
    path = tmp_path / "test_own.py"
    path.write_text(STORY.format(name=name))
    return path


def own_script(loaded: story.Story, name: str) -> Script:
    """A script with the scenario's own workload and fault, and one of ours."""
    theirs = loaded.act.__globals__
    plan = nemesis.at(1.0, theirs[name]()) + nemesis.at(2.0, faults.CollectGarbage())
    return Script(Lab(), (Act((theirs["Wait"](),), plan, 1.0),))


def test_a_scenario_with_a_fault_and_a_workload_of_its_own_is_loaded_once(tmp_path: Path) -> None:
    path = of(tmp_path)
    first, again = story.load(str(path)), story.load(f"{path}::test_it")
    assert first.act is again.act
    written = own_script(first, "BreakNothing")
    assert script.decode(script.encode(written)).acts == written.acts


def test_of_a_scenario_that_has_changed_the_last_counts(tmp_path: Path) -> None:
    first = story.load(str(of(tmp_path)))
    with of(tmp_path).open("a") as file:
        file.write("# changed\n")
    changed = story.load(str(tmp_path / "test_own.py"))
    assert changed.act is not first.act
    written = own_script(changed, "BreakNothing")
    assert script.decode(script.encode(written)).acts == written.acts


def test_a_fault_that_takes_the_name_of_one_of_ours_is_misuse(tmp_path: Path) -> None:
    path = of(tmp_path, "KillAgent")
    program = (
        "from stormpool import script; from stormpool.workers import story; "
        f"story.load({str(path)!r}); script._any_of(script.Fault)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "KillAgent is the name of two of Fault" in done.stderr  # in a process of its own: it stays known


def test_a_scenario_that_cannot_be_imported_is_misuse(tmp_path: Path) -> None:
    path = tmp_path / "test_bad.py"
    path.write_text("import nothing_of_that_name\n")
    with pytest.raises(Misuse, match="nothing_of_that_name"):
        story.load(str(path))


def test_a_plugin_that_the_scenario_does_not_have_is_not_run() -> None:
    stranger = Lab(plugins=[CsiPlugin(id="evil\x1b[2K", argv=("rm",))])
    with pytest.raises(Misuse, match="no plugin evil⟨001B⟩"):
        script.at_home(Script(stranger), Lab())


def test_what_a_scenario_prints_is_none_of_our_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of(tmp_path)
    path.write_text(path.read_text() + 'print("hello")\n')
    story.load(str(path))
    assert capsys.readouterr() == ("", "hello\n")
