"""Labs of machines: from nothing to ready, and back to where they were.

    python e2e/bench/machines.py [--rounds N] [--reverts N] [--nomad VERSION] [--json]

One machine with a pool and no agent; then two and three with agents, pools and a CSI plugin that is healthy.
Each lab is copied once it is ready, and set back again and again: until all machines' agents answer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from figures import show, spread
from stormpool.lab import Lab
from stormpool.plugins import csi
from stormpool.runner import Asked, running

GOAL = 5.0  # seconds until all are as they were
LABS = {
    1: Lab(servers=0, clients=1),
    2: Lab(servers=1, clients=1, plugins=[csi.zfs()]),
    3: Lab(servers=1, clients=2, plugins=[csi.zfs()]),
}


def once(lab: Lab, nomad: str, reverts: int) -> tuple[float, float, list[float]]:
    """Seconds until ready, of the copy, and of each time it was set back."""
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        asked = Asked(lab=lab, scenario="bench", nomad=nomad, out=Path(scratch), provider="vagrant")
        with running(asked) as cluster:
            ready = time.monotonic() - began
            began = time.monotonic()
            cluster.copy()
            copied = time.monotonic() - began
            back = []
            for _ in range(reverts):
                began = time.monotonic()
                cluster.revert()
                back.append(time.monotonic() - began)
    return ready, copied, back


def measure(rounds: int, reverts: int, nomad: str) -> dict[str, object]:
    """Each lab so many times."""
    result: dict[str, object] = {"rounds": rounds, "revert_goal_s": GOAL}
    for machines, lab in LABS.items():
        taken = []
        for _ in range(rounds):
            taken.append(once(lab, nomad, reverts))
            print(machines, taken[-1], file=sys.stderr, flush=True)
        result |= spread(f"{machines}_ready_s", [ready for ready, _, _ in taken])
        result |= spread(f"{machines}_copy_s", [copied for _, copied, _ in taken])
        result |= spread(f"{machines}_revert_s", [each for *_, back in taken for each in back])
    return result


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--reverts", type=int, default=5)
    parser.add_argument("--nomad", default="1.10.5")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    show(measure(asked.rounds, asked.reverts, asked.nomad), as_json=asked.json)


if __name__ == "__main__":
    main()
