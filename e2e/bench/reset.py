"""Runs on a lab that is used again and again: how long resets and runs take, and what the runs come to.

python e2e/bench/reset.py [--runs N] [--nomad VERSION ...] [--scenario FILE] [--provider P]
                         [--parallel N] [--json]

The story that is told when none is named has no fault in it: what is not valid is a false alarm.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from figures import show, spread
from stormpool.errors import MachineError
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome
from stormpool.workers.pool import Workers
from stormpool.workers.worker import Order

STORY = Path(__file__).parents[2] / "scenarios" / "csi" / "test_volumes_are_attached_and_detached.py"


def measure(story: Path, version: str, provider: str, runs: int, parallel: int) -> dict[str, object]:
    """Run it so many times, and say what came of it."""
    resets: list[float] = []
    seconds: list[float] = []
    outcomes: Counter[str] = Counter()
    alarms: list[str] = []
    spent = failed = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        argv = [str(story), version, provider, scratch]
        with Workers(parallel, argv, out, lambda _: None) as workers:
            for _, done in workers.run((str(seed), Order(seed)) for seed in range(runs)):
                if isinstance(done, MachineError):
                    failed += 1
                    print(done)
                    continue
                seconds.append(done.seconds)
                run = RunDirectory.existing(Path(done.run))
                judged, error = run.judged(), run.about().error
                if done.spent:
                    spent += 1
                    print(done.spent, error)
                else:
                    resets.append(done.reset)
                outcomes[judged.outcome if judged else "not judged"] += 1
                said = f"{version} {len(seconds)} {done.seconds:.0f} s {dict(outcomes)}"
                print(said, file=sys.stderr, flush=True)
                if judged is None or judged.outcome is not Outcome.VALID:
                    alarms += [each.why for each in run.read_verdicts() if each.outcome is not Outcome.VALID]
                    alarms += [error] if error else []
                run.remove()
    took = time.monotonic() - began
    return {
        f"{version}_runs": runs,
        f"{version}_an_hour": 3600 * runs / took,
        **spread(f"{version}_run_s", seconds),
        f"{version}_reset_s_median": statistics.median(resets),
        f"{version}_reset_s_p95": statistics.quantiles(resets, n=20)[-1] if len(resets) > 1 else resets[0],
        f"{version}_reset_s_worst": max(resets),
        f"{version}_labs_spent": spent,
        f"{version}_failed": failed,
        f"{version}_outcomes": dict(outcomes),
        f"{version}_alarms": alarms,
    }


def main() -> None:
    """Measure each version."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--nomad", action="append", default=[])
    parser.add_argument("--scenario", type=Path, default=STORY)
    parser.add_argument("--provider", default="netns")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result: dict[str, object] = {}
    for version in asked.nomad or ["1.6.1", "1.10.5"]:
        result |= measure(asked.scenario.resolve(), version, asked.provider, asked.runs, asked.parallel)
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
