"""What is on a node, by the kernel's word: runs there, with nothing but Python's standard library.

    python observe.py DIRECTORY   prints one JSON object: processes, mount points, what is in the directory

Left out are this process and what the bench itself runs, which is marked in its environment.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ALLOC = re.compile(r"/alloc/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/|\b)")
MARK = "STORMPOOL_BENCH"


def names(directory: str) -> list[str]:
    """What is in a directory."""
    return [path.name for path in Path(directory).iterdir()]


def stat_of(pid: int) -> list[str] | None:
    """A process's state, parent and so on (proc_pid_stat(5), from the third); None when it has ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields


def files_of(pid: int) -> tuple[list[str], list[str]]:
    """What a process has open: where it leads, and device and number of what is a regular file."""
    led, numbered = [], []
    for name in names(f"/proc/{pid}/fd"):
        try:
            led.append(str(Path(f"/proc/{pid}/fd/{name}").readlink()))
            seen = Path(f"/proc/{pid}/fd/{name}").stat()
        except OSError:
            continue
        numbered.append(f"{seen.st_dev}:{seen.st_ino}")
    return led, numbered


def process(pid: int) -> dict[str, Any] | None:
    """One process; None for a kernel thread, for what the bench runs, and when it has ended meanwhile."""
    try:
        stat = stat_of(pid)
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        lines = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        led, numbered = files_of(pid)
        first = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return None
    env = dict(line.split("=", 1) for line in lines if "=" in line)
    if stat is None or not argv or MARK in env or pid == os.getpid():
        return None
    found = (env.get("NOMAD_ALLOC_ID"), *(match[1] for match in map(ALLOC.search, [*argv, *led]) if match))
    return {
        "pid": pid,
        "parent": int(stat[1]),
        "threads": int(stat[17]),
        "started": int(stat[19]),
        "argv": argv,
        "alloc": next((each for each in found if each), ""),
        "files": len(led),
        "open": numbered,
        "first": bool(re.search(r"^NSpid:.*\t1$", first, re.MULTILINE)),
    }


def main() -> None:
    """Print what is there."""
    pids = sorted(int(name) for name in names("/proc") if name.isdigit())
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    seen = {
        "processes": [each for pid in pids if (each := process(pid)) is not None],
        "mounts": mounts,
        "temporary": sorted(names(sys.argv[1])),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
