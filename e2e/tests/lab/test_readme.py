"""What the README says works: its demonstration, its commands to play by hand, its plugin of one's own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import ROOT, CommandLine, Host, results

pytestmark = pytest.mark.lab

README = (ROOT / "README.md").read_text()


def console(heading: str) -> list[str]:
    """The commands under a heading, without their prompts and remarks."""
    section = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [line[2:].partition("  #")[0].strip() for line in lines]


def test_the_demonstration(host: Host) -> None:
    demo, check = console("Two commands")
    assert (demo, check) == ("ci/demo", "ci/check")
    done = subprocess.run([str(ROOT / demo)], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected: red on Nomad 1.6.0, green on 1.6.1" in done.stdout
    assert host.left() == set()


def test_play_by_hand(host: Host) -> None:
    commands = console("Play by hand")
    assert len(commands) == 4
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert host.left() == set()


def test_bring_your_own_plugin(stormpool: CommandLine, tmp_path: Path) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    plugin = tmp_path / "plugin"
    serve = f"PYTHONPATH={ROOT}/fixtures exec {sys.executable} -m zfs_csi --cloud=/lab/cloud"
    plugin.write_text(f'#!/bin/sh\n{serve} --node="${{1#--nodeid=}}"\n')
    plugin.chmod(0o755)
    story = tmp_path / "test_mine.py"
    story.write_text(snippet.replace("/path/to/plugin", str(plugin)))
    done = stormpool("run", story, "--nomad", "1.6.1", "--out", tmp_path / "runs", "--json")
    (result,) = results(done)
    assert {each["guarantee"] for each in result["verdicts"]} == {"lifecycle order", "nothing left behind"}
    assert all(each["judged"] for each in result["verdicts"])
