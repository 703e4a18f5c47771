"""Runs an hour of a story in which all holds, with one, two and three labs at the same time.

python e2e/bench/parallel.py [--scenario STORY] [--runs N] [--json]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from figures import show
from harness import GOLDEN, ROOT, command


def an_hour(story: str, labs: int, runs: int) -> float:
    """Runs an hour with so many labs at once; every one of them must be green."""
    with tempfile.TemporaryDirectory() as scratch:
        asked = ["--nomad", "1.6.1", "--seed", "1", "--repeat", str(runs), "--parallel", str(labs)]
        began = time.monotonic()
        done = subprocess.run(
            command("run", story, *asked, "--out", scratch, "--json"),
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        spent = time.monotonic() - began
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return 3600 * runs / spent


def main() -> None:
    """Measure each, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenario", default=str(GOLDEN), help="FILE::TEST [the demonstration's]")
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rates = {labs: an_hour(asked.scenario, labs, asked.runs) for labs in (1, 2, 3)}
    result: dict[str, float] = {"runs": asked.runs}
    for labs, rate in rates.items():
        result[f"labs_{labs}_an_hour"] = rate
        result[f"labs_{labs}_ratio"] = rate / rates[1]
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
