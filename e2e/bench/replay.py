"""How often `replay` shows again what a red run showed: every red run in some directories that is on record.

python e2e/bench/replay.py RUNS... [--repeat K] [--parallel N] [--json]

Of several red runs of one scenario on one version the last is taken. For instance over what
`ci/scenarios --nightly` left in `runs/scenarios`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from figures import show
from harness import ROOT, command
from stormpool import track_record

RECORD = ROOT / "scenarios" / "track-record.toml"


def red(directories: list[Path]) -> dict[str, Path]:
    """The last red run of each scenario on each version that is in the track record."""
    known = track_record.read(RECORD)
    found: dict[str, Path] = {}
    runs = sorted((run for each in directories for run in each.iterdir()), key=lambda run: run.name)
    for run in runs:
        about, verdict = run / "run.json", run / "verdict.json"
        if not (about.exists() and verdict.exists() and (run / "script.json").exists()):
            continue
        said = json.loads(about.read_text())
        version = said["versions"]["nomad"]
        if known.of(said["scenario"], version) is None:
            continue
        if any(each["outcome"] == "invalid" for each in json.loads(verdict.read_text())["verdicts"]):
            found[f"{Path(said['scenario']).name} {version}"] = run
    return found


def replay(run: Path, repeat: int, parallel: int) -> dict[str, Any]:
    """Replay one run so many times."""
    with tempfile.TemporaryDirectory() as scratch:
        how = ["--repeat", str(repeat), "--parallel", str(parallel), "--out", scratch, "--json"]
        done = subprocess.run(
            command("replay", str(run), *how), cwd=ROOT, capture_output=True, check=False, text=True
        )
    if not done.stdout:
        return {"runs": repeat, "reproduced": 0, "error": done.stderr.strip()}
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def main() -> None:
    """Replay them all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    runs = reproduced = 0
    result: dict[str, object] = {}
    for name, run in red(asked.runs).items():
        said = replay(run.resolve(), asked.repeat, asked.parallel)
        runs += said["runs"]
        reproduced += said["reproduced"]
        result[name] = f"{said['reproduced']} of {said['runs']}"
        print(name, result[name], said.get("error", ""), file=sys.stderr, flush=True)
    result |= {"runs": runs, "reproduced": reproduced, "rate": reproduced / runs if runs else 0.0}
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
