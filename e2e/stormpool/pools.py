"""A real ZFS pool on every client: the daemon, and a pool named `tank` on a file of the node's disk.

zfs-fuse serves ZFS from user space (pool version 23): real pools, datasets and snapshots, no kernel module.
"""

from __future__ import annotations

from pathlib import Path

from stormpool.errors import MachineError
from stormpool.node import Node, Process
from stormpool.wait import wait_until

POOL = "tank"
ARC_MIB = 16  # the cache of one daemon: a lab has many
READY_TIMEOUT = 20.0  # seconds until the daemon answers; 0.1 on an idle machine


def start(node: Node, size_mib: int, log: Path) -> Process:
    """Start a node's daemon and make its pool, or bring back the one on its disk."""
    daemon = node.start(
        f"zfs-fuse of {node.spec.name}",
        ["zfs-fuse", "--no-daemon", "--no-kstat-mount", "--max-arc-size", str(ARC_MIB)],
        env={},
        log=log,
    )
    wait_until(
        f"zfs-fuse of {node.spec.name} answers",
        lambda: _answers(node, daemon, log),
        timeout=READY_TIMEOUT,
        every=0.02,
    )
    vdev = f"{node.disk}/vdevs/{POOL}.img"
    if node.run(["test", "-e", vdev], check=False).code == 0:
        if POOL not in node.run(["zpool", "list", "-H", "-o", "name"]).stdout.split():
            node.run(["zpool", "import", "-f", "-d", f"{node.disk}/vdevs", POOL])
        node.run(["zfs", "mount", "-a"])  # the daemon brings cached pools back by itself, and mounts nothing
    else:
        node.run(["mkdir", "-p", f"{node.disk}/vdevs"])
        node.run(["truncate", f"--size={size_mib}M", vdev])
        node.run(["zpool", "create", "-f", "-m", f"/{POOL}", POOL, vdev])
    return daemon


def _answers(node: Node, daemon: Process, log: Path) -> bool:
    if not daemon.alive():
        said = log.read_text(errors="replace").strip()
        raise MachineError(f"zfs-fuse of {node.spec.name} ended with {daemon.code()}: {said[-400:]}")
    return node.run(["zpool", "list", "-H"], check=False).code == 0
