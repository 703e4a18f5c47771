"""How long it takes to find one orphaned executor among many processes of a node.

    python e2e/bench/orphans.py [--processes N] [--looks N] [--json]

A node without an agent runs so many tasks, each of an allocation of its own, and one executor of an
allocation that is over. A look is the whole of it: the observer is started on the node, reads all of `/proc`,
and what it tells is judged.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from pathlib import Path

from figures import quantile, show
from stormpool.checkers.no_orphaned_executor import mismatches
from stormpool.events import Census, TaskView
from stormpool.lab import Lab
from stormpool.node import Bringing, Nodes
from stormpool.observe.observing import Observing
from stormpool.providers.netns import Netns
from stormpool.store import Recorder
from stormpool.wait import wait_until

# Starts a task for each allocation it reads, and the executor of the first.
TASKS = """
read -r orphan
sh /run/driver executor "/alloc/$orphan/task" &
while read -r alloc; do NOMAD_ALLOC_ID=$alloc NOMAD_TASK_NAME=task sleep 3600 & done
wait
"""
DRIVER = "any"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=500)
    parser.add_argument("--looks", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        nodes = Netns().up(Lab(servers=0), Bringing("0badbeef", Path(scratch)))
        try:
            show(measure(nodes, Path(scratch), asked.processes, asked.looks), as_json=asked.json)
        finally:
            nodes.down()


def measure(nodes: Nodes, scratch: Path, processes: int, looks: int) -> dict[str, float]:
    """Milliseconds of a look, and of its judging."""
    node = nodes.nodes["client1"]
    orphan, *allocs = (str(uuid.uuid4()) for _ in range(processes))
    node.write("/run/allocs", "\n".join([orphan, *allocs]) + "\n")
    node.write("/run/driver", "sleep 3600\n:\n")
    node.write("/run/tasks", TASKS)
    node.start("tasks", ["sh", "-c", "exec sh /run/tasks </run/allocs"], env={}, log=scratch / "log")
    observing = Observing(nodes.python, Recorder(scratch / "history.jsonl"))
    wait_until(
        "all tasks run", lambda: len(observing.look(node).processes) >= processes, timeout=60.0, every=0.5
    )
    census = Census(0, [TaskView(alloc, "task", "client1", "dead", DRIVER) for alloc in (orphan, *allocs)])
    took: list[float] = []
    for _ in range(looks):
        began = time.perf_counter()
        seen = observing.look(node)
        found = [what for what in mismatches(census, seen, {DRIVER}) if orphan[:8] in what]
        took.append((time.perf_counter() - began) * 1e3)
        assert len(found) == 1, found
    shares = {"p50": 0.5, "p95": 0.95}
    return {
        "processes": len(seen.processes),
        "looks": looks,
        **{f"look_{name}_ms": quantile(took, share) for name, share in shares.items()},
        "look_worst_ms": max(took),
    }


if __name__ == "__main__":
    main()
