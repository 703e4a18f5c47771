"""A real ZFS pool on every client, named `tank`, on a disk of the node's own."""

from __future__ import annotations

from pathlib import Path

from stormpool.node import Node

POOL = "tank"

# A disk that is a device of the node's is there, or missing; one that is a file is made, and removed.
MAKE = 'case "$1" in /dev/*) ;; *) mkdir -p "${1%/*}" && truncate "$2" "$1" ;; esac'
REMOVE = 'case "$1" in /dev/*) ;; *) rm -f "$1" ;; esac'


def start(node: Node, size_mib: int, log: Path) -> None:
    """Make a node's pool, or bring back the one on its disk, once ZFS is served there."""
    node.zfs.serve(log)
    if POOL in imported(node):
        pass  # who serves ZFS has brought it back by itself
    elif _is_on_disk(node):
        import_own(node)
    else:
        _make(node, node.vdev(POOL), f"--size={size_mib}M")
        # Not by force: a disk on which there is a pool, though it was not found, is not written over.
        node.run(["zpool", "create", "-m", f"/{POOL}", POOL, node.vdev(POOL)])
    node.run(["zfs", "mount", "-a"])  # the daemon mounts nothing by itself


def import_own(node: Node) -> None:
    """Import the pool on a node's own disk."""
    node.run(["zpool", "import", "-f", "-d", _vdevs(node), POOL])


def add_vdev(node: Node, name: str) -> str:
    """A disk beside the one that a node's own pool is on, no smaller than that."""
    path = node.vdev(name)
    _make(node, path, f"--reference={node.vdev(POOL)}")
    return path


def remove_vdev(node: Node, name: str) -> None:
    """Undo `add_vdev`."""
    node.run(["sh", "-c", REMOVE, "sh", node.vdev(name)])


def imported(node: Node) -> list[str]:
    """The pools a node has imported."""
    return node.run(["zpool", "list", "-H", "-o", "name"]).stdout.split()


def status(node: Node, pool: str) -> str:
    """What `zpool status` says of a pool; disks by their whole paths (zfs-fuse), or by name (OpenZFS)."""
    return node.run(["zpool", "status", pool]).stdout


def suspended(node: Node, pool: str) -> bool:
    """Whether a pool waits for a disk that fails; zfs-fuse calls its state ONLINE then, OpenZFS SUSPENDED."""
    said = status(node, pool)
    return "faulted in response to IO failures" in said or "state: SUSPENDED" in said


def _is_on_disk(node: Node) -> bool:
    """Whether a node's own disk has its pool on it."""
    found = node.run(["zpool", "import", "-d", _vdevs(node)], check=False).stdout
    return f"pool: {POOL}\n" in found


def _make(node: Node, path: str, size: str) -> None:
    node.run(["sh", "-c", MAKE, "sh", path, size])


def _vdevs(node: Node) -> str:
    return node.vdev(POOL).rpartition("/")[0]
