"""What a harness that is killed leaves on this host: SIGKILL at random moments of a run, then `down --all`.

    python e2e/bench/kill.py [--times N] [--seed S] [--json]

Found by looking at the host before and after, not by asking the lab.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from figures import show
from harness import ROOT, Host, command, golden, only_cgroups
from stormpool.errors import TimedOut
from stormpool.wait import wait_until

LONGEST = 25.0  # seconds: about as long as the run itself


def once(after: float) -> tuple[set[str], set[str], float]:
    """Kill a run after so many seconds: what the kernel left, what `down --all` left, and how soon."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_STATE_HOME"] = scratch
        host = Host()
        harness = golden(Path(scratch))
        time.sleep(after)
        harness.kill()
        harness.wait()
        began = time.monotonic()
        with contextlib.suppress(TimedOut):  # what is left then is the result
            wait_until("only cgroups are left", host.left, only_cgroups, timeout=10, every=0.01)
        took = time.monotonic() - began
        at_once = {each for each in host.left() if not each.startswith("cgroup ")}
        subprocess.run(command("down", "--all"), cwd=ROOT, check=True, capture_output=True)
        return at_once, host.left(), took


def main() -> None:
    """Kill again and again, and say what was left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    found = [once(chance.uniform(0.2, LONGEST)) for _ in range(asked.times)]
    result = {
        "times": asked.times,
        "left_by_the_kernel": sorted(set().union(*(at_once for at_once, _, _ in found))),
        "left_after_down_all": sorted(set().union(*(left for _, left, _ in found))),
        "undone_in_s_max": max(took for _, _, took in found),
    }
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
