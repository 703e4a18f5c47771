"""How long a report takes to be written, and how smooth it is in a real browser.

    python e2e/bench/report.py [--events N ...] [--json]

The events are calls of a storm: sixty volumes on three nodes, a fault, breaches, and more log lines than a
page keeps. Writing is measured in a process of its own; the page in a headless Chromium that draws in
software, as it is zoomed around the pointer, then panned, a step a frame. One line a count of events.
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
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
sys.path.insert(0, str(HERE.parent / "tests" / "lab"))

from storm import storm

from chromium import Browser, chromium
from figures import show
from stormpool import reporter
from stormpool.report.page import Judgement
from stormpool.store import RunDirectory

COUNTS = (1_000, 10_000, 100_000)
GOAL_FPS = 50.0
FRAMES = 240
WHEEL = (
    "(i) => canvas.dispatchEvent(new WheelEvent('wheel', {bubbles: true, cancelable: true, "
    "clientX: canvas.getBoundingClientRect().left + 500, clientY: canvas.getBoundingClientRect().top + 200, "
    "%s}))"
)
ZOOM = WHEEL % "deltaY: i % 120 < 60 ? -60 : 60"
PAN = WHEEL % "deltaX: i % 120 < 60 ? 40 : -40"


def write(path: Path) -> dict[str, float]:
    """Write the report of a saved run in this process."""
    run = RunDirectory.existing(path)
    began = time.perf_counter()
    judged = run.judged()
    assert judged is not None
    reporter.write(run, Judgement(run.about(), run.read_history(), judged.verdicts))
    return {
        "write_s": time.perf_counter() - began,
        "page_mib": run.report.stat().st_size / 2**20,
        "trace_mib": (run.path / reporter.TRACE).stat().st_size / 2**20,
        "writer_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def drawn(page: Path) -> dict[str, float]:
    """How the page does in a browser that was just started."""
    with chromium() as browser:
        browser.size(1400, 1000)
        browser.open(page)
        first = float(browser.value("performance.getEntriesByName('first drawing')[0].startTime"))
        browser.key("0")
        figures = {"first_drawing_ms": first}
        for name, act in (("zoom", ZOOM), ("pan", PAN)):
            before = browser.busy()
            figures |= _smooth(name, browser.frames(act, FRAMES))
            figures[f"{name}_cpu_ms_a_frame"] = (browser.busy() - before) / FRAMES
            browser.key("+")
        return figures | {"page_heap_mib": _heap(browser)}


def _smooth(name: str, frames: list[float]) -> dict[str, float]:
    return {
        f"{name}_frame_median_ms": median(frames),
        f"{name}_frame_p95_ms": quantiles(frames, n=20)[-1],
        f"{name}_fps": 1000 * len(frames) / sum(frames),
    }


def _heap(browser: Browser) -> float:
    """All that the page's script holds, the numbers of its spans included."""
    used = browser.ask("Runtime.getHeapUsage")
    return float(used["usedSize"] + used.get("backingStorageSize", 0)) / 2**20


def measure(events: int, runs: int) -> dict[str, Any]:
    """Measure so many times; the median of each figure, and the worst frame rate."""
    with tempfile.TemporaryDirectory() as scratch:
        run = storm(Path(scratch), events)
        argv = [sys.executable, __file__, "--write", str(run.path)]
        told = []
        for _ in range(runs):
            said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
            told.append(json.loads(said) | drawn(run.report))
    figures = {name: median(each[name] for each in told) for name in told[0]}
    worst = min(min(each["zoom_fps"], each["pan_fps"]) for each in told)
    return {"events": events, "runs": runs, **figures, "worst_fps": worst, "goal_fps": GOAL_FPS}


def main() -> None:
    """Measure each count of events."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, nargs="+", default=COUNTS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.write:
        print(json.dumps(write(asked.write)))
        return
    for events in asked.events:
        show(measure(events, asked.runs), as_json=asked.json)


if __name__ == "__main__":
    main()
