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
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

STORMPOOL = Path(sys.executable).with_name("stormpool")
PROVIDERS = ("netns", "vagrant:1+2")
STORIES = (
    "csi/test_controller_calls_are_serialized@1.6.0",
    "csi/test_controller_calls_are_serialized@1.6.1",
    "csi/test_device_names_are_taken_once@1.6.0",
    "csi/test_device_names_are_taken_once@1.6.1",
    "csi/test_volumes_are_attached_and_detached@1.10.5",
    "csi/test_clients_are_lost_while_volumes_are_attached@1.10.5",
    "csi/test_a_client_stops_while_its_task_writes@1.10.5",
    "csi/test_a_node_is_lost_under_a_task@1.10.5",
    "csi/test_the_leader_stops_in_the_middle_of_controller_calls@1.6.1",
    "csi/test_a_plugin_is_killed@1.10.5",
    "csi/test_an_agent_is_killed_while_it_publishes@1.10.5",
    "csi/test_nodes_are_drained@1.10.5",
    "device/test_a_device_plugin_hands_out_datasets@1.10.5",
    "device/test_a_device_is_lost_and_comes_back@1.10.5",
    "device/test_each_task_has_an_instance_of_its_own@1.10.5",
    "device/test_a_driver_exposes_a_dataset@1.10.5",
    "driver/test_an_executor_is_killed@1.10.5",
    "driver/test_a_driver_plugin_is_killed@1.10.5",
    "driver/test_an_agent_is_killed_over_its_tasks@1.10.5",
    "driver/test_the_answer_to_a_start_is_lost@1.10.5",
)


def run(stories: Iterable[str], providers: Iterable[str], out: Path) -> None:
    """Run each story on each provider, and add what came of it to a file."""
    for story in stories:
        name, _, version = story.partition("@")
        path, *test = name.split("::")
        scenario = "::".join((f"scenarios/{path}.py", *test))
        for provider in providers:
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
        found[each["scenario"].removeprefix("scenarios/"), each["version"]][
            each["provider"].partition(":")[0]
        ].append(each)
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
        run(asked.stories or STORIES, asked.provider or PROVIDERS, asked.out)
    else:
        print(
            table(json.loads(line) for file in asked.files for line in file.read_text().splitlines()), end=""
        )


if __name__ == "__main__":
    main()
