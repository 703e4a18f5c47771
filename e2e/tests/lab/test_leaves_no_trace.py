"""However a run ends, nothing of it is left but its directory: seen by looking at the host."""

import random
import signal
import time
from pathlib import Path

import pytest

from harness import CommandLine, Host, golden, only_cgroups
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

MOMENTS = 4  # e2e/bench/kill.py does it at fifty


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_harness_that_is_killed(moment: int, tmp_path: Path, host: Host, stormpool: CommandLine) -> None:
    after = random.Random(moment).uniform(0.3, 20.0)
    harness = golden(tmp_path)
    time.sleep(after)  # the moment is the point of the test
    harness.kill()
    harness.wait()
    wait_until("the kernel has undone it", host.left, only_cgroups, timeout=10)
    assert stormpool("down", "--all").returncode == 0
    assert host.left() == set()


def test_a_harness_that_is_killed_while_machines_boot(
    tmp_path: Path, host: Host, stormpool: CommandLine
) -> None:
    harness = golden(tmp_path, "vagrant:1+1")
    wait_until("machines boot", lambda: "qemu-system" in " ".join(host.left()), timeout=120)
    harness.kill()
    harness.wait()
    wait_until("the kernel has undone it", host.left, only_cgroups, timeout=30)
    assert stormpool("down", "--all").returncode == 0
    assert host.left() == set()


def test_ctrl_c(tmp_path: Path, host: Host) -> None:
    harness = golden(tmp_path)
    wait_until("the lab is up", lambda: list(tmp_path.glob("*/logs/client3.log")), timeout=60)
    harness.send_signal(signal.SIGINT)
    assert harness.wait(60) == 130
    assert host.left() == set()
    (run,) = tmp_path.iterdir()
    assert (run / "report.html").exists()


def test_a_scenario_that_raises(tmp_path: Path, host: Host, stormpool: CommandLine) -> None:
    story = tmp_path / "test_raises.py"
    story.write_text(
        "from stormpool.lab import Lab\n"
        "LAB = Lab()\n"
        "def test_it(cluster):\n"
        "    raise KeyError('a slip in the scenario')\n"
    )
    done = stormpool("run", story, "--out", tmp_path / "runs", "--json")
    assert done.returncode == 2
    assert "a slip in the scenario" in done.stdout
    assert host.left() == set()
