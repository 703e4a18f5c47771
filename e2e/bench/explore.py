"""Runs an hour of `explore` on a story, with one and with two labs at the same time.

python e2e/bench/explore.py [--scenario STORY] [--budget SECONDS] [--nomad VERSION] [--json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from figures import show
from harness import ROOT, command

STORY = "scenarios/csi/test_volumes_are_attached_and_detached.py"


def explore(story: str, labs: int, budget: int, version: str) -> dict[str, Any]:
    """Explore for so long with so many labs: points, runs an hour, what came of them, what bounds it."""
    with tempfile.TemporaryDirectory() as scratch:
        asked = ["--nomad", version, "--budget", f"{budget}s", "--parallel", str(labs), "--out", scratch]
        done = subprocess.run(
            command("explore", story, *asked, "--json"), cwd=ROOT, capture_output=True, check=False
        )
    *tried, summary = [json.loads(line) for line in done.stdout.splitlines()]
    runs = [each for each in tried if each["run"]]
    clean = sum(each["reset"] >= 0 for each in runs)
    return {
        "points": summary["points"],
        "stand_for": summary["stand_for"],
        "runs": len(runs),
        "an_hour": 3600 * len(runs) / summary["seconds"],
        "outcomes": dict(Counter(each["outcome"] for each in tried)),
        "labs_used_again": clean,
        "share_in_runs": sum(each["seconds"] for each in runs) / summary["seconds"] / labs,
        "share_in_resets": sum(max(0.0, each["reset"]) for each in runs) / summary["seconds"] / labs,
    }


def main() -> None:
    """Measure one lab, then two."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scenario", default=STORY, help="FILE::TEST [volumes that are attached]")
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--nomad", default="1.6.1")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result: dict[str, object] = {}
    for labs in (1, 2):
        found = explore(asked.scenario, labs, asked.budget, asked.nomad)
        result |= {f"labs_{labs}_{name}": value for name, value in found.items()}
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
