"""Ground truth, read on a node: its processes, mounts and pools, by the kernel's word and not by an agent's.

Runs on the node, with nothing but Python's standard library; prints JSON lines in the shape of
`stormpool.history.Observed`, times being of CLOCK_MONOTONIC:

    python observe.py            everything, once
    python observe.py --watch S  the tasks that have a ZFS file system of their own, whenever that changed,
                                 looked at every S seconds until standard input closes
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time

ALLOC = re.compile(r"/alloc/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/|\b)")
# Where an agent keeps volumes and tasks' directories: mounts there are the node's. A container that is being
# set up still sees them, in a copy that may be older than what is mounted now; it is no task yet.
AGENTS_OWN = re.compile(r"/client/csi/|/alloc/[0-9a-f]{8}-")
LONGEST = 300  # characters kept of a command line


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def zfs_mounts(pid: int | str) -> list[tuple[str, str, bool]]:
    """The ZFS file systems a process sees: source, mount point, writable (proc_pid_mountinfo(5))."""
    found = []
    for line in _read(f"/proc/{pid}/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, source, *_ = after.split()
        if kind in ("zfs", "fuse.zfs"):
            fields = before.split()
            found.append((source, fields[4], "rw" in fields[5].split(",")))
    return found


def _alloc_and_task(pid: int, argv: str) -> tuple[str, str]:
    """Which allocation a process belongs to: it says so itself, or its arguments or open files do."""
    env = dict(entry.split("=", 1) for entry in _read(f"/proc/{pid}/environ").split("\0") if "=" in entry)
    if "NOMAD_ALLOC_ID" in env:
        return env["NOMAD_ALLOC_ID"], env.get("NOMAD_TASK_NAME", "")
    match = ALLOC.search(argv)
    if match:
        return match[1], ""
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        try:
            match = ALLOC.search(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
        except OSError:
            continue
        if match:
            return match[1], ""
    return "", ""


def process(pid: int, base: str, known: set[tuple[str, str]]) -> dict[str, object] | None:
    """One process, or None when it is a kernel thread, has ended meanwhile, or is this one."""
    if pid == os.getpid():
        return None
    try:
        name, _, rest = _read(f"/proc/{pid}/stat").partition("(")[2].rpartition(")")
        fields = rest.split()
        argv = _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
        if fields[0] in "ZX" or not argv:
            return None
        own = os.readlink(f"/proc/{pid}/ns/mnt") != base
        mounted = zfs_mounts(pid) if own else []
        own_mounts = [
            mount for mount in mounted if mount[:2] not in known and not AGENTS_OWN.search(mount[1])
        ]
        writes = sorted({source for source, _, writable in own_mounts if writable})
        alloc, task = _alloc_and_task(pid, argv)
    except (OSError, IndexError, ValueError):
        return None
    return {
        "pid": pid,
        "started": int(fields[19]),
        "name": name,
        "argv": argv[:LONGEST],
        "parent": int(fields[1]),
        "alloc": alloc,
        "task": task,
        "writes": writes,
    }


def processes() -> list[dict[str, object]]:
    """Every process of this node."""
    base = os.readlink("/proc/self/ns/mnt")
    known = {(source, target) for source, target, _ in zfs_mounts("self")}
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [seen for pid in pids if (seen := process(pid, base, known)) is not None]


def _names(*argv: str) -> list[str]:
    try:
        said = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    return said.stdout.split() if said.returncode == 0 else []


def everything() -> dict[str, object]:
    """All that can be seen of this node."""
    mounts = [{"source": s, "target": t, "writable": rw} for s, t, rw in zfs_mounts("self")]
    return {
        "at": time.monotonic_ns(),
        "processes": processes(),
        "mounts": mounts,
        "pools": _names("zpool", "list", "-H", "-o", "name"),
        "datasets": _names("zfs", "list", "-H", "-o", "name", "-t", "filesystem"),
    }


def _tell(seen: dict[str, object]) -> None:
    print(json.dumps(seen), flush=True)


def watch(every: float) -> None:
    """Tell of tasks with a ZFS file system of their own until standard input closes."""
    before, since = None, 0
    while True:
        at = time.monotonic_ns()
        now = [seen for seen in processes() if seen["writes"]]
        if now != before:
            _tell({"at": at, "since": since, "processes": now})
            before = now
        since = at
        if select.select([sys.stdin], [], [], every)[0]:
            _tell({"at": time.monotonic_ns(), "since": since, "processes": []})
            return


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch(float(sys.argv[2]))
    else:
        _tell(everything())
