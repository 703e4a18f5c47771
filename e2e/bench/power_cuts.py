"""What is lost of writes that were told of when a machine's power is cut in the middle of them.

    python e2e/bench/power_cuts.py [--cuts N] [--seed N] [--json]

Three tasks of one machine write numbered lines at once, each to a dataset of its own, and tell of every line:
one syncs each before it tells of it (fsync(2)), one never syncs, and one syncs in a dataset that does not
(`sync=disabled`, zfsprops(7)). The power is cut at a time of chance; after the next boot the lines that are
there are counted, and the pools are read through (zpool-scrub(8)). Told of is what was heard on this host.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

from figures import show
from stormpool import pools
from stormpool.conform.judging import POOL_MIB, nodes_up
from stormpool.node import Node, Nodes
from stormpool.pools import POOL
from stormpool.providers.vagrant import Vagrant

OTHER = "other"
# The pool, its `sync`, whether the task syncs. The one that does has a pool of its own: what it syncs takes
# with it what others of its pool have written.
WRITERS = {
    "synced": (OTHER, "standard", True),
    "not synced": (POOL, "standard", False),
    "sync disabled": (POOL, "disabled", True),
}
WITHIN = (3.0, 9.0)  # seconds from the first line to the cut: a transaction group is 5
HEARD_WITHIN = 60.0  # seconds until every writer has told of a line
WRITE = """
import os, sys
sync = sys.argv[2] == "True"
with open(sys.argv[1], "ab", buffering=0) as file:
    for number in range(1, 10**9):
        file.write(b"%d\\n" % number)
        if sync:
            os.fsync(file.fileno())
        print(number, flush=True)
"""


def cut(nodes: Nodes, node: Node, number: int, after: float) -> dict[str, tuple[int, int, int]]:
    """Cut the power once; for every writer what was told of, how much of it is there, what else is there."""
    told = dict.fromkeys(WRITERS, 0)
    all_told = threading.Event()

    def hear(name: str, line: str) -> None:
        told[name] = int(line)
        if all(told.values()):
            all_told.set()

    files = {}
    for name, (pool, sync, _) in WRITERS.items():
        dataset = f"{pool}/{name.replace(' ', '-')}-{number}"
        node.run(["zfs", "create", "-o", f"sync={sync}", dataset])
        files[name] = f"/{dataset}/lines"
    for name, (*_, synced) in WRITERS.items():
        argv = ["python3", "-I", "-S", "-c", WRITE, files[name], str(synced)]
        node.stream(argv, lambda line, name=name: hear(name, line))  # type: ignore[misc]
    if not all_told.wait(HEARD_WITHIN):
        raise SystemExit(f"a writer told of nothing: {told}")
    time.sleep(after)
    nodes.crash(node.spec.name)
    nodes.boot(node.spec.name)
    pools.start(node, POOL_MIB, Path("/dev/null"))
    said = {name: node.run(["cat", files[name]], check=False).stdout.splitlines() for name in WRITERS}
    return {name: (told[name], *_in_order(said[name])) for name in WRITERS}


def _in_order(lines: list[str]) -> tuple[int, int]:
    """How many lines are there, from the first on, without a gap; how many others, but for one cut short."""
    count = 0
    for line in lines:
        if line != str(count + 1):
            break
        count += 1
    cut_short = count + 1 == len(lines) and str(count + 1).startswith(lines[-1])
    return count, len(lines) - count - cut_short


def damage(node: Node) -> int:
    """Errors that are found when all of both pools is read."""
    node.run(["zpool", "scrub", "-w", POOL, OTHER], timeout=300)
    status = json.loads(node.run(["zpool", "status", "-j", "--json-int"]).stdout)
    return sum(int(pool["error_count"]) for pool in status["pools"].values())


def measure(cuts: int, seed: int) -> dict[str, object]:
    """Cut so often, and say what was lost."""
    chance = Random(seed)
    lost: dict[str, list[int]] = {name: [] for name in WRITERS}
    heard = dict.fromkeys(WRITERS, 0)
    strange = dict.fromkeys(WRITERS, 0)  # lines that nobody wrote, or after one that is missing
    errors = 0
    with (
        tempfile.TemporaryDirectory() as scratch,
        nodes_up(Vagrant(), secrets.token_hex(4), Path(scratch)) as nodes,
    ):
        node = nodes.nodes["client1"]
        node.run(["zpool", "create", OTHER, node.vdev(OTHER)])
        for number in range(cuts):
            came = cut(nodes, node, number, chance.uniform(*WITHIN))
            for name, (told, found, others) in came.items():
                heard[name] += told
                strange[name] += others
                lost[name].append(max(0, told - found))
            errors += damage(node)
            print(number + 1, came, file=sys.stderr, flush=True)
    result: dict[str, object] = {"seed": seed, "cuts": cuts, "errors_found_by_scrub": errors}
    for name, counts in lost.items():
        word = name.replace(" ", "_")
        result |= {
            f"{word}_told": heard[name],
            f"{word}_lost": sum(counts),
            f"{word}_lost_median": statistics.median(counts),
            f"{word}_lost_most": max(counts),
            f"{word}_cuts_that_lost": sum(map(bool, counts)),
            f"{word}_out_of_order": strange[name],
        }
    return result


def main() -> None:
    """Measure it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    show(measure(asked.cuts, asked.seed), as_json=asked.json)


if __name__ == "__main__":
    main()
