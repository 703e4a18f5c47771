"""What a shaped link adds by itself: round trips between two nodes, with a null shape and without.

    python e2e/bench/link.py [--round-trips N] [--times N] [--json]

One datagram and its echo over a TCP connection that stays up; the link of one of the two nodes is shaped and
restored in turn. The same for how much a connection carries.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lab"))

from figures import quantile, show
from probes import BULK, ECHO, SINK, listening, python
from stormpool.lab import Lab
from stormpool.links import Shape
from stormpool.node import Bringing, Nodes
from stormpool.providers import checks
from stormpool.providers.netns import Netns

MEGABYTE = 1_000_000  # what `BULK` sends, in bytes
TRIPS = """
import json, socket, sys, time
asker = socket.create_connection((sys.argv[1], 9000))
asker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
spent = []
for number in range(int(sys.argv[2]) + 200):
    began = time.perf_counter()
    asker.sendall(b"?")
    asker.recv(100)
    spent.append((time.perf_counter() - began) * 1e6)
print(json.dumps(spent[200:]))
"""


def trips(nodes: Nodes, count: int, log: Path) -> list[float]:
    """Microseconds of each round trip."""
    one, two = nodes.nodes["server1"], nodes.nodes["server2"]
    with listening(two, ECHO, log):
        spent: list[float] = json.loads(one.run(python(TRIPS, two.address, str(count))).stdout)
    return spent


def carried(nodes: Nodes, log: Path) -> float:
    """Megabytes a second."""
    one, two = nodes.nodes["server1"], nodes.nodes["server2"]
    with listening(two, SINK, log):
        return MEGABYTE / 1e6 / float(one.run(python(BULK, two.address)).stdout)


def measure(nodes: Nodes, times: int, count: int, log: Path) -> dict[str, object]:
    """All figures of one lab."""
    result: dict[str, object] = {
        "by": "netem" if checks.netem().well else "relay",
        "times": times,
        "round_trips": count,
    }
    spent: dict[str, list[list[float]]] = {"plain": [], "null": []}
    rates: dict[str, list[float]] = {"plain": [], "null": []}
    for _ in range(times):
        for kind, runs in spent.items():
            if kind == "null":
                nodes.links.shape("server1", Shape(), by="bench")
            runs.append(trips(nodes, count, log))
            rates[kind].append(carried(nodes, log))
            nodes.links.restore("bench")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        for kind, runs in spent.items():
            values = [quantile(run, share) for run in runs]
            result[f"{kind}_{name}_us"] = statistics.median(values)
            result[f"{kind}_{name}_us_min"], result[f"{kind}_{name}_us_max"] = min(values), max(values)
    for kind, values in rates.items():
        result[f"{kind}_mb_per_s"] = statistics.median(values)
    return result


def main() -> None:
    """Measure, and say what a shaped link adds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--round-trips", type=int, default=3000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        nodes = Netns().up(Lab(servers=2, clients=0), Bringing("0badbe7c", Path(scratch)))
        try:
            result = measure(nodes, asked.times, asked.round_trips, Path(scratch) / "log")
        finally:
            nodes.down()
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
