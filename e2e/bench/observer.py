"""How long a look at many ZFS file systems takes: by libzfs_core, by JSON, by the lines of the command.

    python e2e/bench/observer.py [--datasets N] [--rounds N] [--json]

On one machine, in one process each, as the observer asks (`stormpool.observe.zfs`): the ways take turns.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
from pathlib import Path

from figures import show, spread
from stormpool.conform.judging import nodes_up
from stormpool.observe import command
from stormpool.providers.vagrant import Vagrant

MAKE = """
import sys, libzfs_core
libzfs_core.lzc_create(b"tank/many")
for number in range(int(sys.argv[1])):
    libzfs_core.lzc_create(b"tank/many/%d" % number)
"""
# The first look of a process loads the library, or runs the command for the first time; later ones are those
# of a watch.
LOOK = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from stormpool.observe import zfs
zfs.TIMEOUT = 600
if sys.argv[2] != "pyzfs":
    zfs._core = lambda: None
if sys.argv[2] == "lines":
    zfs._json = lambda *argv: None
times = []
for _ in range(2):
    began = time.monotonic()
    found = len(zfs.file_systems(True))
    times.append(time.monotonic() - began)
print(json.dumps([found, *times]))
"""
WAYS = ("pyzfs", "json", "lines")


def measure(datasets: int, rounds: int) -> dict[str, object]:
    """Look so often, each way."""
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    with (
        tempfile.TemporaryDirectory() as scratch,
        nodes_up(Vagrant(), secrets.token_hex(4), Path(scratch)) as nodes,
    ):
        node = nodes.nodes["client1"]
        node.run(["python3", "-I", "-c", MAKE, str(datasets)], timeout=900)
        for _ in range(rounds):
            for way in WAYS:
                argv = [nodes.python, "-I", "-c", LOOK, str(command.PACKAGES), way]
                found, first, again = json.loads(node.run(argv, timeout=900).stdout)
                assert found == datasets + 2  # with the pool's own, and the parent
                times[way].append((first, again))
                print(way, f"{first:.2f} {again:.2f}", file=sys.stderr, flush=True)
    result: dict[str, object] = {"datasets": datasets}
    for way, pairs in times.items():
        for name, values in zip(("first", "again"), zip(*pairs, strict=True), strict=True):
            result |= spread(f"{way}_{name}_s", values)
    return result


def main() -> None:
    """Measure it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    show(measure(asked.datasets, asked.rounds), as_json=asked.json)


if __name__ == "__main__":
    main()
