"""The same stories on each provider: what was broken, and how long it took.

    python e2e/bench/parity.py run [--out FILE] [--provider P ...] SCENARIO@VERSION ...   a line of JSON a run
    python e2e/bench/parity.py table FILE ...                                             side by side

A story is run on a provider once for every time it is named. Without names: `STORIES`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

STORMPOOL = Path(sys.executable).with_name("stormpool")
# Stories of docs/parity.md, by how many machines they are given.
STORIES = {
    "vagrant:1+2": (
        "csi/test_controller_calls_are_serialized@1.6.0",
        "csi/test_controller_calls_are_serialized@1.6.1",
        "csi/test_device_names_are_taken_once@1.6.0",
        "csi/test_device_names_are_taken_once@1.6.1",
        "csi/test_clients_are_lost_while_volumes_are_attached@1.10.5",
        "csi/test_a_plugin_is_killed@1.10.5",
        "device/test_a_device_plugin_hands_out_datasets@1.10.5",
        "device/test_a_device_is_lost_and_comes_back@1.10.5",
        "driver/test_an_executor_is_killed@1.10.5",
        "driver/test_a_driver_plugin_is_killed@1.10.5",
    ),
    "vagrant:3+2": ("csi/test_the_leader_stops_in_the_middle_of_controller_calls@1.6.1",),
}


def planned(stories: Sequence[str], providers: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each story with each provider."""
    for machines, several in ({"vagrant:1+2": stories} if stories else STORIES).items():
        yield from product(several, providers or ("netns", machines))


def run(plan: Iterable[tuple[str, str]], out: Path) -> None:
    """Run each story on its provider, and add what came of it to a file."""
    for story, provider in plan:
        name, _, version = story.partition("@")
        path, *test = name.split("::")
        scenario = "::".join((f"scenarios/{path}.py", *test))
        argv = [str(STORMPOOL), "run", scenario, f"--nomad={version}"]
        argv += [f"--provider={provider}", "--seed=1", "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        with out.open("a") as file:
            for said in lines or [{"error": done.stderr[-500:], "scenario": scenario}]:
                file.write(json.dumps({**said, "provider": provider, "version": version}) + "\n")
                print(provider, json.dumps(said)[:200], file=sys.stderr, flush=True)


def table(runs: Iterable[dict[str, Any]]) -> str:
    """What came of every story on every provider, in Markdown."""
    found: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for each in runs:
        path, _, test = each["scenario"].removeprefix("scenarios/").partition("::")
        story = path.removesuffix(".py") + ("" if path.endswith(f"/{test}.py") else f"::{test}")
        found[story, each["version"]][each["provider"].partition(":")[0]].append(each)
    names = sorted({provider for by_provider in found.values() for provider in by_provider})
    lines = ["| scenario | Nomad | " + " | ".join(f"{name} | s" for name in names) + " |"]
    lines.append("|---|---|" + "---|---:|" * len(names))
    for (scenario, version), by_provider in sorted(found.items()):
        cells = [cell for name in names for cell in _cells(by_provider[name])]
        lines.append(f"| `{scenario}` | {version} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(runs: list[dict[str, Any]]) -> tuple[str, str]:
    """What runs of one story on one provider came to, and their seconds."""
    if not runs:
        return "", ""
    said = sorted({_verdict(each) for each in runs})
    times = [sum(each["timings"].values()) for each in runs if each.get("timings")]
    return "; ".join(said) + (
        f" ({len(runs)} runs)" if len(runs) > 1 else ""
    ), f"{median(times):.0f}" if times else ""


def _verdict(said: dict[str, Any]) -> str:
    """What a run came to, in a few words."""
    broken = [each["guarantee"] for each in said.get("verdicts", ()) if each["outcome"] == "invalid"]
    return f"broken: {', '.join(broken)}" if broken else str(said.get("outcome", "error"))


def main() -> None:
    """Run, or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    does = parser.add_subparsers(dest="does", required=True)
    runs = does.add_parser("run")
    runs.add_argument("--out", type=Path, default=Path("runs/parity.jsonl"))
    runs.add_argument("--provider", action="append")
    runs.add_argument("stories", nargs="*", metavar="SCENARIO@VERSION")
    prints = does.add_parser("table")
    prints.add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args()
    if asked.does == "run":
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        run(planned(asked.stories, asked.provider or ()), asked.out)
    else:
        print(
            table(json.loads(line) for file in asked.files for line in file.read_text().splitlines()), end=""
        )


if __name__ == "__main__":
    main()
