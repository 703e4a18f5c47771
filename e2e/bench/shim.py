"""What the tap adds to a call of a plugin that an agent starts itself, interleaved in one run.

    python e2e/bench/shim.py [--calls N] [--json]

The plugin is a device plugin of Python's, asked to reserve; once as it is, and once behind the shim that
stands in its place in a lab. Its stream of findings goes on meanwhile, as it does with an agent.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from figures import quantile, show
from stormpool import stubs
from stormpool.goplugin.drive import DrivenDevice
from stormpool.goplugin.process import LocalProcess, PluginProcess
from stormpool.store import Recorder
from stormpool.tap.collector import Collector
from stormpool.tap.messages import Protocol

PLUGIN = [sys.executable, str(Path(__file__).parents[1] / "tests" / "sample_device.py")]
WARM_UP = 300  # calls of each kind that are not counted
START_UPS = 5


def met(argv: list[str]) -> tuple[LocalProcess, DrivenDevice, float]:
    """A plugin that runs, and how long it took until it answered, in seconds."""
    began = time.perf_counter()
    started = LocalProcess(argv)
    device = DrivenDevice(PluginProcess(started))
    device.info()
    return started, device, time.perf_counter() - began


def main() -> None:
    """Measure, and say what the tap adds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch) / "tap.sock"
        protocol = Protocol(stubs.services("nomad", "goplugin"))
        collector = Collector(str(told), protocol, Recorder(Path(scratch) / "history.jsonl"))
        hello = json.dumps({"plugin": "disks", "node": "here"})
        shim = [sys.executable, "-m", "stormpool.tap.shim", f"--hello={hello}", f"--report={told}", "--"]
        ways = {"direct": PLUGIN, "tap": [*shim, *PLUGIN]}
        spent: dict[str, list[float]] = {name: [] for name in ways}
        begun = {name: sorted(_start_up(argv) for _ in range(START_UPS)) for name, argv in ways.items()}
        up = {name: met(argv) for name, argv in ways.items()}
        for _, device, _ in up.values():
            device.configure()
            device.fingerprint().first(5.0)
        for _ in range(WARM_UP + asked.calls):
            for name, (_, device, _) in up.items():
                began = time.perf_counter()
                device.reserve("disk0")
                spent[name].append((time.perf_counter() - began) * 1e6)
        for started, _, _ in up.values():
            started.__exit__(None, None, None)
        collector.close()
    result: dict[str, float] = {"calls": asked.calls}
    for share, called in ((0.5, "p50"), (0.99, "p99")):
        values = {name: quantile(each[WARM_UP:], share) for name, each in spent.items()}
        result |= {f"{name}_{called}_us": value for name, value in values.items()}
        result[f"added_{called}_us"] = values["tap"] - values["direct"]
    for name, seconds in begun.items():
        result[f"{name}_start_ms"] = seconds[len(seconds) // 2] * 1e3
    show(result, as_json=asked.json)


def _start_up(argv: list[str]) -> float:
    """Seconds until a plugin that was started has answered."""
    started, _, took = met(argv)
    started.__exit__(None, None, None)
    return took


if __name__ == "__main__":
    main()
