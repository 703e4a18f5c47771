"""A real ZFS pool on every client, named `tank`, on a disk of the node's own.

Where a node's kernel has no ZFS, zfs-fuse serves it from user space (pool version 23): real pools, datasets
and snapshots, no kernel module.
"""

from __future__ import annotations

from pathlib import Path

from stormpool import disks
from stormpool.errors import MachineError
from stormpool.node import Node, Process
from stormpool.wait import wait_until

POOL = "tank"
ARC_MIB = 16  # the cache of one daemon: a lab has many
READY_TIMEOUT = 20.0  # seconds until the daemon answers; 0.1 on an idle machine
DAEMON = "zfs-fuse"

# The shell waits for the daemon: who waits for the shell is not stopped along with a daemon that is. And a
# write past a limit on files' sizes fails, as on a broken disk, where it would end the daemon.
START = """trap '' XFSZ
"$@"
exit $?"""


def start(node: Node, size_mib: int, log: Path) -> None:
    """Make a node's pool, or bring back the one on its disk; start the daemon first where one is needed."""
    if not node.zfs_in_kernel:
        _serve(node, log)
        node.run(["mkdir", "-p", _vdevs(node)])
    if POOL in imported(node):
        pass  # who serves ZFS has brought it back by itself
    elif _is_on_disk(node):
        import_own(node)
    else:
        if not node.zfs_in_kernel:
            node.run(["truncate", f"--size={size_mib}M", vdev(node)])
        node.run(["zpool", "create", "-f", "-m", f"/{POOL}", POOL, vdev(node)])
    node.run(["zfs", "mount", "-a"])  # the daemon mounts nothing by itself


def _serve(node: Node, log: Path) -> None:
    """Start a node's daemon."""
    options = ["--no-daemon", "--no-kstat-mount", "--max-arc-size", str(ARC_MIB)]
    daemon = node.start(
        f"{DAEMON} of {node.spec.name}", ["sh", "-c", START, "sh", DAEMON, *options], env={}, log=log
    )
    wait_until(
        f"{DAEMON} of {node.spec.name} answers",
        lambda: _answers(node, daemon, log),
        timeout=READY_TIMEOUT,
        every=0.02,
    )


def _is_on_disk(node: Node) -> bool:
    """Whether a node's own disk has its pool on it."""
    if not node.zfs_in_kernel:
        return node.run(["test", "-e", vdev(node)], check=False).code == 0
    found = node.run(["zpool", "import", "-d", _vdevs(node)], check=False).stdout
    return f"pool: {POOL}\n" in found


def import_own(node: Node) -> None:
    """Import the pool on a node's own disk."""
    node.run(["zpool", "import", "-f", "-d", _vdevs(node), POOL])


def vdev(node: Node, name: str = POOL) -> str:
    """The disk that a node's own pool is on, or another beside it."""
    return node.vdev(name)


def daemon_of(node: Node) -> int:
    """The pid of a node's daemon, as the node sees it. Raises `CommandFailed` when it does not run."""
    return int(node.run(["pidof", "-s", DAEMON]).stdout)


def imported(node: Node) -> list[str]:
    """The pools a node has imported."""
    return node.run(["zpool", "list", "-H", "-o", "name"]).stdout.split()


def status(node: Node, pool: str) -> str:
    """What `zpool status` says of a pool; disks by their whole paths, as zfs-fuse has them anyway."""
    return node.run(["zpool", "status", *(["-P"] if node.zfs_in_kernel else []), pool]).stdout


def suspended(node: Node, pool: str) -> bool:
    """Whether a pool waits for a disk that fails; zfs-fuse calls its state ONLINE then, OpenZFS SUSPENDED."""
    said = status(node, pool)
    return "faulted in response to IO failures" in said or "state: SUSPENDED" in said


def refuse_writes(node: Node, pool: str) -> None:
    """Have every write to the disks of a pool fail; where a daemon serves ZFS, to those of every pool."""
    if not node.zfs_in_kernel:
        _limit_writes(node, "0")
        return
    for disk in disks.of(node, pool):
        disks.fail_writes(node, disk)


def take_writes(node: Node, pool: str) -> None:
    """Undo `refuse_writes`; nothing happens where nothing was refused."""
    if not node.zfs_in_kernel:
        _limit_writes(node, "unlimited")
        return
    for disk in disks.of(node, pool):
        disks.mend(node, disk)


def _limit_writes(node: Node, to: str) -> None:
    """Have the daemon's writes past so many bytes of a file fail, or none when "unlimited"."""
    node.run(["prlimit", f"--pid={daemon_of(node)}", f"--fsize={to}:"])  # the hard limit stays


def _vdevs(node: Node) -> str:
    return node.vdev(POOL).rpartition("/")[0]


def _answers(node: Node, daemon: Process, log: Path) -> bool:
    if not daemon.alive():
        said = log.read_text(errors="replace").strip()
        raise MachineError(f"{DAEMON} of {node.spec.name} ended with {daemon.code()}: {said[-400:]}")
    return node.run(["zpool", "list", "-H"], check=False).code == 0
