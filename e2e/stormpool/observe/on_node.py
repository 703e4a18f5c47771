"""Ground truth, read on a node: its processes, mounts and pools, by the kernel's word and not by an agent's.

Runs on the node (`command`), with nothing but Python's standard library, and pyzfs where it is; prints
JSON lines in the shape of `stormpool.events.Observed`, times being of CLOCK_MONOTONIC. It is told who serves
ZFS here, `kernel` or `daemon`: a node that is a part of a host sees the host's /dev/zfs. And then:

    (nothing)     everything, once
    --watch S     the tasks that have a ZFS file system of their own, whenever that changed, and every second
                  as long as there are any, for the node may crash before it changes; looked at every
                  S seconds until standard input closes
    --datasets S  the ZFS file systems, in the shape of `stormpool.events.Datasets`, whenever they changed;
                  looked at as often
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
import time
from typing import Any

from stormpool.observe import zfs

ALLOC = re.compile(r"/alloc/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/|\b)")
ASKED = re.compile(r"/client/csi/.+/(?:staging|per-alloc)/")
KERNEL, DAEMON = "kernel", "daemon"
LONGEST = 300  # characters kept of a command line
FORKED = 0x40  # of a process's flags: it has run no program of its own (linux/sched.h, PF_FORKNOEXEC)
MOMENT = 1.0  # seconds in which a process that was forked becomes another program; 0.001 as seen
AGAIN_AFTER = 10**9  # nanoseconds after which what has not changed is told again


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def mounts_in(mountinfo: str) -> list[list[str]]:
    """What is mounted: device, root, mount point, options, kind, source (proc_pid_mountinfo(5))."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        found.append([*before.split()[2:6], *after.split()[:2]])
    return found


def zfs_mounts(mounts: list[list[str]]) -> list[tuple[str, str, bool]]:
    """The ZFS file systems among mounts: source, mount point, writable."""
    return [
        (source, point, "rw" in options.split(","))
        for _, _, point, options, kind, source in mounts
        if kind in ("zfs", "fuse.zfs")
    ]


def asked_mounts(mounts: list[list[str]]) -> list[tuple[str, str, bool]]:
    """The mounts that an agent had a plugin make, of whatever file system: source, mount point, writable.

    They are in the directories that the agent gives to plugins for staging and publishing (nomad,
    client/pluginmanager/csimanager/volume.go, StagingDirName and AllocSpecificDirName).
    """
    return [
        (source, point, "rw" in options.split(","))
        for _, _, point, options, _, source in mounts
        if ASKED.search(point)
    ]


def root_of(mounts: list[list[str]]) -> list[str]:
    """The device and directory that are mounted as the root."""
    return [mount[:2] for mount in mounts if mount[2] == "/"][-1]


def contained_writes(mounts: list[list[str]], node_root: list[str]) -> list[str]:
    """Sources of the ZFS file systems that a contained process can write to, by what it sees mounted.

    Contained: it does not see the node's own root any more. One that does has all the node has, as an agent;
    or it is a container being set up, with a copy of all that is mounted, and no task yet.
    """
    if node_root in (mount[:2] for mount in mounts):
        return []
    return sorted({source for source, _, writable in zfs_mounts(mounts) if writable})


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


def identity(pid: int) -> tuple[int, int, str] | None:
    """A process's start in clock ticks since boot, its parent and its name; None when it has ended."""
    try:
        name, _, rest = _read(f"/proc/{pid}/stat").partition("(")[2].rpartition(")")
    except OSError:
        return None
    fields = rest.split()
    return None if fields[0] in "ZX" else (int(fields[19]), int(fields[1]), name)


def process(pid: int, namespace: str, node_root: list[str]) -> dict[str, Any] | None:
    """One process; None for a kernel thread, for this one, and when it has ended meanwhile."""
    who = identity(pid)
    if who is None or pid == os.getpid():
        return None
    try:
        argv = _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
        alloc, task = _alloc_and_task(pid, argv)
        own = os.readlink(f"/proc/{pid}/ns/mnt") != namespace
        writes = contained_writes(mounts_in(_read(f"/proc/{pid}/mountinfo")), node_root) if own else []
    except (OSError, ValueError):
        return None
    if not argv:
        return None
    started, parent, name = who
    told = {"pid": pid, "started": started, "name": name, "argv": argv[:LONGEST], "parent": parent}
    return {**told, "alloc": alloc, "task": task, "writes": writes}


def processes() -> list[dict[str, Any]]:
    """Every process of this node; those that were seen to write were all there at one instant."""
    namespace, node_root = os.readlink("/proc/self/ns/mnt"), root_of(own_mounts())
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    found = [seen for pid in pids if (seen := process(pid, namespace, node_root)) is not None]
    argvs = {seen["pid"]: seen["argv"] for seen in found}
    ready = [seen for seen in found if seen["argv"] != argvs.get(seen["parent"]) or not just_forked(seen)]
    return [seen for seen in ready if not seen["writes"] or still_there(seen)]


def just_forked(seen: dict[str, Any]) -> bool:
    """Whether a process, of no allocation, was forked just now, and is about to become another program."""
    try:
        fields = _read(f"/proc/{seen['pid']}/stat").rpartition(")")[2].split()
    except OSError:
        return True
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - seen["started"] / os.sysconf("SC_CLK_TCK")
    return not seen["alloc"] and bool(int(fields[6]) & FORKED) and age < MOMENT


def own_mounts() -> list[list[str]]:
    """What the node itself sees mounted."""
    return mounts_in(_read("/proc/self/mountinfo"))


def still_there(seen: dict[str, Any]) -> bool:
    """Whether a process goes on."""
    who = identity(seen["pid"])
    return who is not None and who[0] == seen["started"]


def everything(in_kernel: bool) -> dict[str, Any]:
    """All that can be seen of this node."""
    own = own_mounts()
    shown = dict.fromkeys([*zfs_mounts(own), *asked_mounts(own)])
    mounts = [{"source": s, "target": t, "writable": rw} for s, t, rw in shown]
    at, running = time.monotonic_ns(), processes()
    seen = {"at": at, "processes": running, "mounts": mounts}
    pools, file_systems = zfs.pools(in_kernel), zfs.file_systems(in_kernel)
    if pools is None or file_systems is None:
        return {**seen, "silent": True}
    return {**seen, "pools": pools, "datasets": sorted(file_systems)}


def _tell(seen: dict[str, Any]) -> None:
    print(json.dumps(seen), flush=True)


def watch(every: float) -> None:
    """Tell of tasks with a ZFS file system of their own until standard input closes."""
    before, since, told = None, 0, 0
    while True:
        at = time.monotonic_ns()
        writers = [seen for seen in processes() if seen["writes"]]
        now = {(seen["alloc"], source) for seen in writers for source in seen["writes"]}
        if now != before or (now and at - told >= AGAIN_AFTER):
            _tell({"at": at, "since": since, "processes": writers})
            before, told = now, at
        since = at
        if select.select([sys.stdin], [], [], every)[0]:
            _tell({"at": time.monotonic_ns(), "since": since, "processes": []})
            return


def datasets(in_kernel: bool) -> dict[str, Any] | None:
    """The ZFS file systems: when each was made, and which are mounted; None where ZFS says nothing."""
    at = time.monotonic_ns()
    made = zfs.file_systems(in_kernel)
    mounted = {source for source, _, _ in zfs_mounts(own_mounts())}
    return {"at": at, "made": made, "mounted": sorted(mounted & set(made))} if made is not None else None


def watch_datasets(in_kernel: bool, every: float) -> None:
    """Tell of the ZFS file systems until standard input closes."""
    before, since = None, 0
    while True:
        seen = datasets(in_kernel)
        if seen and (seen["made"], seen["mounted"]) != before:
            _tell({**seen, "since": since})
            before = seen["made"], seen["mounted"]
        since = seen["at"] if seen else since
        if select.select([sys.stdin], [], [], every)[0]:
            return


def main(asked: list[str]) -> None:
    """Tell what was asked for."""
    in_kernel = asked[0] == KERNEL
    if asked[1:2] == ["--watch"]:
        watch(float(asked[2]))
    elif asked[1:2] == ["--datasets"]:
        watch_datasets(in_kernel, float(asked[2]))
    else:
        _tell(everything(in_kernel))
