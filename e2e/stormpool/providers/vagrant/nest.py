"""The namespaces of a lab of machines: a libvirt of its own, and nothing of it outside.

When the lab's init dies, the kernel ends libvirt, its network services and every machine, and takes networks,
disks and snapshots with it: all of them live in the lab's memory.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stormpool import ledger, processes
from stormpool.programs import fixture_environment
from stormpool.providers.namespaces import NEW
from stormpool.providers.pipes import close, expect

HERE = Path(__file__).parent
MEMORY = "75%"  # of this host's: what disks and snapshots may take, all machines together
ENDED_WITHIN = 30.0  # seconds that the kernel may take to undo it; 0.3 with three machines
HOME = "/run/lab"


class Nest:
    """The namespaces of one lab."""

    def __init__(self) -> None:
        argv = ["unshare", *NEW, "--mount-proc", "--kill-child", "sh", str(HERE / "lab_init.sh"), MEMORY]
        pipe = subprocess.PIPE
        self._unshared = subprocess.Popen(argv, start_new_session=True, stdin=pipe, stdout=pipe, stderr=pipe)
        self._started: list[subprocess.Popen[bytes]] = []
        expect(self._unshared, "up", "the lab's namespaces")
        self.init = processes.only_child(self._unshared.pid, lambda: True)

    @property
    def identity(self) -> ledger.Identity:
        """Its init's."""
        return ledger.identity(self.init)

    @property
    def home(self) -> Path:
        """The lab's own directory, as this host sees it: in the lab's memory."""
        return Path(f"/proc/{self.init}/root{HOME}")

    def inside(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> list[str]:
        """What runs a command in all the namespaces."""
        words = [f"{name}={value}" for name, value in (env or {}).items()]
        enter = ["nsenter", f"--target={self.init}", "--mount", "--uts", "--net", "--pid", "--"]
        return [*enter, "env", *words, *argv]

    def network(self, argv: Sequence[str]) -> list[str]:
        """What runs a command of this host in the lab's network; it ends with the lab."""
        return ["nsenter", f"--target={self.init}", "--net", "--pid", "--", *argv]

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Start a process in all the namespaces, that ends with them; what it says is in `home`."""
        with (self.home / f"{name}.log").open("wb") as log:
            entered = subprocess.Popen(
                self.inside(argv, fixture_environment()),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._started.append(entered)

    def end(self) -> None:
        """End everything in it; idempotent."""
        processes.signal(self.init, signal.SIGKILL)
        for process in (self._unshared, *self._started):
            process.wait(ENDED_WITHIN)
        close(self._unshared)
