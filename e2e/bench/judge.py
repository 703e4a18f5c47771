"""How long a million recorded events take to be judged for serialization and order, and how much memory.

    python e2e/bench/judge.py [--events N] [--json]

The events are six calls in the order a volume goes through, over and over, on three nodes and sixty volumes.
The time is that of a process of its own, from the bytes of the file to both verdicts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import show
from stormpool import guarantees
from stormpool.events import Call, Reply
from stormpool.history import History, encode

GOAL = 2.0  # seconds for a million
STEPS = (
    "ControllerPublishVolume",
    "NodeStageVolume",
    "NodePublishVolume",
    "NodeUnpublishVolume",
    "NodeUnstageVolume",
    "ControllerUnpublishVolume",
)


def write(path: Path, events: int) -> None:
    """Write a history of so many events."""
    with path.open("wb") as file:
        for number in range(events // 2):
            turn, step = divmod(number, len(STEPS))
            volume, node, method = f"vol{turn % 60}", f"client{turn % 3 + 1}", STEPS[step]
            alloc = f"{turn:08x}-0000-0000-0000-000000000000"
            controller = method.startswith("Controller")
            args = {} if controller else {"staging_target_path": f"/nomad/client/csi/staging/{volume}"}
            if method in ("NodePublishVolume", "NodeUnpublishVolume"):
                args["target_path"] = f"/nomad/client/csi/per-alloc/{alloc}/{volume}"
            call = Call(
                t=number * 1000,
                id=f"{node}/zfs/{number}",
                plugin="zfs",
                node="client1" if controller else node,
                method=method,
                volume=volume,
                target=node if controller else "",
                args=args,
                alloc=alloc,
                peer=123,
                sent=number * 1000 + 50,
            )
            file.write(
                encode(call) + encode(Reply(t=number * 1000 + 900, id=call.id, told=number * 1000 + 950))
            )


def judge(path: Path) -> dict[str, float]:
    """Judge a history in this process."""
    began = time.perf_counter()
    history = History.decode(path.read_bytes())
    decoded = time.perf_counter()
    serialized = guarantees.serialized_controller_calls(history)
    ordered = guarantees.lifecycle_order(history)
    ended = time.perf_counter()
    assert serialized.outcome == ordered.outcome == "valid", (serialized, ordered)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "decode_s": decoded - began,
        "judge_s": ended - decoded,
        "total_s": ended - began,
        "peak_mib": peak,
    }


def main() -> None:
    """Measure five times, each in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.file:
        print(json.dumps(judge(asked.file)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "history.jsonl"
        write(path, asked.events)
        argv = [sys.executable, __file__, "--file", str(path)]
        said = [
            subprocess.run(argv, capture_output=True, text=True, check=True).stdout for _ in range(asked.runs)
        ]
    runs = sorted((json.loads(line) for line in said), key=lambda run: float(run["total_s"]))
    median = runs[len(runs) // 2]
    result = {
        "events": asked.events,
        **median,
        "total_s_min": runs[0]["total_s"],
        "total_s_max": runs[-1]["total_s"],
        "goal_s": GOAL * asked.events / 1e6,
        "ratio_to_goal": median["total_s"] / (GOAL * asked.events / 1e6),
    }
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
