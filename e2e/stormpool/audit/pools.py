"""The pools of a node, by what ZFS says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Percent of a pool's space. Above, ZFS takes ever longer to find free blocks (OpenZFS documentation, Workload
# Tuning, *Free Space*: "keep pool free space above 10%").
FULL = 90
COUNTS = ("read_errors", "write_errors", "checksum_errors")
WELL = ("ONLINE", "AVAIL", "INUSE")  # the last two: of spares (zpoolconcepts(7))
OF_A_POOL = re.compile(r"^ *pool: *(\S+)$", re.MULTILINE)
STATUS = re.compile(r"^ *status: (.*?)^ *(?:action|see|scan|scrub|config):", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Pool:
    """One imported pool."""

    name: str
    health: str
    capacity: int  # percent of its space that is taken


def listed(said: str) -> list[Pool]:
    """What `zpool list -H -o name,health,capacity` says; every version of ZFS does so."""
    rows = (line.split("\t") for line in said.splitlines())
    return [
        Pool(name, health, int(capacity.rstrip("%").replace("-", "0"))) for name, health, capacity in rows
    ]


def ill(pools: list[Pool]) -> Iterator[str]:
    """Pools that are not well."""
    for pool in pools:
        if pool.health != "ONLINE":
            yield f"pool {pool.name} is {pool.health}"


def full(pools: list[Pool]) -> Iterator[str]:
    """Pools in which ZFS slows down."""
    for pool in pools:
        if pool.capacity > FULL:
            yield f"pool {pool.name} is {pool.capacity} % full, more than {FULL} %"


def ill_devices(status: dict[str, Any]) -> Iterator[str]:
    """Devices of a pool that are not well, in what `zpool status -j` says."""
    for pool, device in _devices(status):
        if device["state"] not in WELL and device.get("vdev_type") != "root":  # which is the pool itself
            yield f"{_named(device)} of pool {pool} is {device['state']}"


def errors(status: dict[str, Any]) -> Iterator[str]:
    """Errors of pools and of their devices, in what `zpool status -j` says."""
    for name, pool in status["pools"].items():
        if int(pool.get("error_count") or 0):
            yield f"pool {name} has {pool['error_count']} data errors"
    for pool, device in _devices(status):
        counts = [f"{device[each]} {each.replace('_', ' ')}" for each in COUNTS if int(device.get(each, 0))]
        if counts:
            yield f"{_named(device)} of pool {pool} had {', '.join(counts)}"


def troubles(said: str, pools: list[Pool]) -> Iterator[str]:
    """Pools that are ONLINE and have had errors, in what `zpool status -x` says: text, for people.

    Versions before 2.3 have nothing else to tell errors by.
    """
    online = {pool.name for pool in pools if pool.health == "ONLINE"}
    _, *parts = OF_A_POOL.split(said)
    for name, about in zip(parts[::2], parts[1::2], strict=True):
        if name in online:
            status = STATUS.search(about)
            yield f"pool {name}: {' '.join((status[1] if status else about).split())}"


def _devices(status: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every device, of every class, each with its pool's name."""
    for name, pool in status["pools"].items():
        for below in pool.values():
            yield from ((name, device) for device in _below(below))


def _named(device: dict[str, Any]) -> str:
    return f"{device.get('vdev_type', 'device')} {device['name']}"


def _below(devices: object) -> Iterator[dict[str, Any]]:
    for device in devices.values() if isinstance(devices, dict) else ():
        if isinstance(device, dict):
            if "name" in device and "state" in device:
                yield device
            yield from _below(device.get("vdevs"))
