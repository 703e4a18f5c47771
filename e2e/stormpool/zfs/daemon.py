"""ZFS served by a daemon, where a node's kernel has none: zfs-fuse, pool version 23.

Real pools, datasets and snapshots, no kernel module. One daemon serves all pools of a node.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stormpool.errors import MachineError
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.companions import Companions
    from stormpool.node import Node, Process

DAEMON = "zfs-fuse"
ARC_MIB = 16  # the cache of one daemon: a lab has many
READY_TIMEOUT = 20.0  # seconds until the daemon answers; 0.1 on an idle machine
STUTTER = "slow-pools"  # the companion that stops and continues the daemon

# The shell waits for the daemon: who waits for the shell is not stopped along with a daemon that is. And a
# write past a limit on files' sizes fails, as on a broken disk, where it would end the daemon.
START = """trap '' XFSZ
"$@"
exit $?"""


class DaemonZfs:
    """A node's daemon, as what serves its pools."""

    in_kernel = False

    def __init__(self, node: Node) -> None:
        self._node = node

    def serve(self, log: Path) -> None:
        """Start it, and return when it answers."""
        options = ["--no-daemon", "--no-kstat-mount", "--max-arc-size", str(ARC_MIB)]
        name = f"{DAEMON} of {self._node.spec.name}"
        daemon = self._node.start(name, ["sh", "-c", START, "sh", DAEMON, *options], env={}, log=log)
        answers = f"{name} answers"
        wait_until(answers, lambda: self._answers(daemon, log), timeout=READY_TIMEOUT, every=0.02)

    def pid(self) -> int:
        """Its pid, as the node sees it. Raises `CommandFailed` when it does not run."""
        return int(self._node.run(["pidof", "-s", DAEMON]).stdout)

    def refuse_writes(self, pool: str) -> None:  # noqa: ARG002 - it serves all
        """Have every write to a file fail: to the disks of every pool."""
        self._limit_writes("0")

    def take_writes(self, pool: str) -> None:  # noqa: ARG002 - it serves all
        """Undo `refuse_writes`."""
        self._limit_writes("unlimited")

    def slow(self, stopped: float, running: float, companions: Companions) -> None:
        """Stop it and let it run in turns: all pools are slow."""
        companions.stutter(self._node, STUTTER, self.pid(), stopped, running)

    def quicken(self, companions: Companions) -> None:
        """Undo `slow`."""
        companions.end(self._node, STUTTER)
        self._node.run(["kill", "-CONT", str(self.pid())])

    def _limit_writes(self, to: str) -> None:
        """Have writes past so many bytes of a file fail, or none when "unlimited"."""
        self._node.run(["prlimit", f"--pid={self.pid()}", f"--fsize={to}:"])  # the hard limit stays

    def _answers(self, daemon: Process, log: Path) -> bool:
        if not daemon.alive():
            said = log.read_text(errors="replace").strip()
            raise MachineError(
                f"{DAEMON} of {self._node.spec.name} ended with {daemon.code()}: {said[-400:]}"
            )
        return self._node.run(["zpool", "list", "-H"], check=False).code == 0
