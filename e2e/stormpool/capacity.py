"""Whether this host can hold a lab: asked before anything is started."""

from __future__ import annotations

from pathlib import Path

from stormpool.errors import Misuse
from stormpool.lab import Lab

# Resident memory measured on a lab of 3 + 3 with one monolith plugin, MiB, rounded up.
SERVER, CLIENT, PLUGIN, VOLUMES = 110, 230, 130, 256
SPARE = 512  # MiB left to the host


def needed(lab: Lab) -> int:
    """Memory a lab takes, in MiB; its disks are in memory too."""
    instances = sum((each.controllers or 0) + lab.clients for each in lab.csi_plugins)
    instances += lab.clients * len(lab.external_plugins)
    return lab.servers * SERVER + lab.clients * (CLIENT + lab.pool_mib) + instances * PLUGIN + VOLUMES


def available() -> int:
    """Memory this host can still give, in MiB (proc(5), MemAvailable)."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


def must_hold(lab: Lab, takes: int) -> None:
    """Raise `Misuse` when the lab, which takes so many MiB, asks for more than this host has."""
    wanted, has = takes + SPARE, available()
    if wanted > has:
        raise Misuse(
            f"a lab of {lab.servers} servers and {lab.clients} clients needs about {wanted} MiB of memory, "
            f"and this host has {has} MiB to give",
            fix="ask for fewer nodes or smaller pools, or end other labs (`stormpool down --all`)",
        )
