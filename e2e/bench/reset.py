"""Runs on a lab that is used again and again: how long resets and runs take, and what the runs come to.

python e2e/bench/reset.py [--runs N] [--nomad VERSION ...] [--scenario FILE] [--provider P]
                         [--parallel N] [--json]

The story that is told when none is named has no fault in it: what is not valid is a false alarm.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from figures import quantile, show, spread
from stormpool.errors import MachineError
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome
from stormpool.workers.pool import Workers
from stormpool.workers.worker import Done, Order

STORY = Path(__file__).parents[2] / "scenarios" / "csi" / "test_volumes_are_attached_and_detached.py"


@dataclass
class Tally:
    """What the runs of one version came to."""

    version: str
    seconds: list[float] = field(default_factory=list)
    resets: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)
    spent: int = 0
    failed: int = 0

    def count(self, done: Done | MachineError) -> None:
        """One run more, or a lab that could not run one; the run's directory is taken away."""
        if isinstance(done, MachineError):
            self.failed += 1
            print(done)
            return
        run = RunDirectory.existing(Path(done.run))
        judged, error = run.judged(), run.about().error
        self.seconds.append(done.seconds)
        self.outcomes[judged.outcome if judged else "not judged"] += 1
        if done.spent:
            self.spent += 1
            print(done.spent, error)
        else:
            self.resets.append(done.reset)
        if judged is None or judged.outcome is not Outcome.VALID:
            self.alarms += [each.why for each in run.read_verdicts() if each.outcome is not Outcome.VALID]
            self.alarms += [error] if error else []
        run.remove()
        so_far = f"{self.version} {len(self.seconds)} {done.seconds:.0f} s {dict(self.outcomes)}"
        print(so_far, file=sys.stderr, flush=True)

    def figures(self, took: float) -> dict[str, object]:
        """To show, by name; all runs `took` so many seconds together."""
        told: dict[str, object] = {
            "runs": len(self.seconds),
            "an_hour": 3600 * len(self.seconds) / took,
            **spread("run_s", self.seconds),
            **(spread("reset_s", self.resets) if self.resets else {}),
            "reset_s_p95": quantile(self.resets, 0.95) if self.resets else "no lab was as good as new",
            "labs_spent": self.spent,
            "failed": self.failed,
            "outcomes": dict(self.outcomes),
            "alarms": self.alarms,
        }
        return {f"{self.version}_{name}": figure for name, figure in told.items()}


def measure(story: Path, version: str, provider: str, runs: int, parallel: int) -> dict[str, object]:
    """Run it so many times, and say what came of it."""
    tally, began = Tally(version), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        argv = [str(story), version, provider, scratch]
        with Workers(parallel, argv, Path(scratch), lambda _: None) as workers:
            for _, done in workers.run((str(seed), Order(seed)) for seed in range(runs)):
                tally.count(done)
    return tally.figures(time.monotonic() - began)


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
