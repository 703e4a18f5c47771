"""What ZFS says of itself on a node: the pools it has, and its file systems.

Runs on the node, for `on_node`. It asks by the best way there is: libzfs_core, by pyzfs; else the
JSON of OpenZFS 2.3 and later; else the lines that `-H` prints, as of zfs-fuse. Each way answers None where
ZFS does not: its daemon hangs or is gone, or a pool is suspended, and would have who asks wait for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

POOLS = "/proc/spl/kstat/zfs"  # libzfs_core has no call that lists pools; the kernel has a directory for each
TIMEOUT = 20.0  # seconds that a command may take

# libzfs_core has no call that lists datasets either: the kernel walks them itself (zfs-program(8)).
WALK = b"""
local arguments = ...
local found = {}
local function walk(name)
    if zfs.get_prop(name, "type") == "filesystem" then
        found[name] = zfs.get_prop(name, "creation")
    end
    for child in zfs.list.children(name) do
        walk(child)
    end
end
walk(arguments["argv"][1])
return found
"""
INSTRUCTIONS = 100_000_000  # that a walk may take, the most ZFS allows: 25 a dataset
MEMORY = 100 << 20  # bytes, the same


def pools(in_kernel: bool) -> list[str] | None:
    """The pools that are imported. `in_kernel`: whether this node's kernel serves ZFS, or a daemon."""
    if in_kernel:
        return _pools_of_kernel()
    lines = _said("zpool", "list", "-H", "-o", "name")
    return None if lines is None else lines.splitlines()


def file_systems(in_kernel: bool) -> dict[str, int] | None:
    """The file systems of all pools, each with the time it was made, in seconds since the epoch."""
    if not in_kernel:
        return _lines()
    names = _pools_of_kernel()
    if names is None:  # commands would leave out what is in a suspended pool, and end with 0
        return None
    if (core := _core()) is not None:
        return _walked(core, names)
    said = _json("zfs", "list", "-j", "-p", "-t", "filesystem", "-o", "creation")
    if said is None:
        return _lines("-t", "filesystem")  # zfs-fuse does not know -t here, and has no others
    return {name: int(each["properties"]["creation"]["value"]) for name, each in said["datasets"].items()}


def _lines(*kinds: str) -> dict[str, int] | None:
    """The file systems, by the lines for programs of a version without JSON."""
    lines = _said("zfs", "get", "-H", "-p", *kinds, "-o", "name,value", "creation")
    if lines is None:
        return None
    found = dict(line.split("\t") for line in lines.splitlines())
    return {name: int(at) for name, at in found.items() if "@" not in name}


def _core() -> Any:
    """The module libzfs_core; None where there is none."""
    try:
        import libzfs_core  # noqa: PLC0415 - it takes a second on an emulated machine
    except (ImportError, OSError):
        return None
    return libzfs_core


def _pools_of_kernel() -> list[str] | None:
    """The pools whose state the kernel shows; None where one is suspended."""
    found = []
    for name in sorted(os.listdir(POOLS)):
        try:
            with open(f"{POOLS}/{name}/state", encoding="ascii") as file:
                state = file.read().strip()
        except OSError:  # no pool, or no longer
            continue
        if state == "SUSPENDED":
            return None
        found.append(name)
    return found


def _walked(core: Any, names: list[str]) -> dict[str, int] | None:
    """The file systems of these pools, as the kernel walks them."""
    found: dict[str, int] = {}
    for pool in map(str.encode, names):
        try:
            said = core.lzc_channel_program_nosync(pool, WALK, INSTRUCTIONS, MEMORY, [pool])
        except core.exceptions.PoolNotFound:  # exported meanwhile
            continue
        except core.exceptions.ZFSError:
            return None
        found |= {name.decode(): int(at) for name, at in said.items()}
    return found


def _said(*argv: str) -> str | None:
    """What a command prints; None where it failed, or did not answer."""
    try:
        said = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return said.stdout if said.returncode == 0 else None


def _json(*argv: str) -> dict[str, Any] | None:
    """What a command of OpenZFS says in JSON; None where it has none."""
    said = _said(*argv)
    found: dict[str, Any] | None = json.loads(said) if said else None
    return found
