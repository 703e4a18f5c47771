"""The way into one machine: one ssh connection that lasts, and whatever goes over it."""

from __future__ import annotations

import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stormpool import processes, shell
from stormpool.errors import CommandFailed, MachineError
from stormpool.providers.vagrant.machines import KEY
from stormpool.providers.vagrant.nest import HOME, Nest
from stormpool.shell import Completed
from stormpool.wait import wait_until

# ssh without its master would connect anew: from this host's network, to whoever has the address there.
IN_MASTER_ALONE = ("-F", "none", "-o", "ProxyCommand=false", "-o", "LogLevel=ERROR")
OPEN_TIMEOUT = 120.0  # seconds until a machine lets us in; 0.5 for one that is up, 10 after a power cut
LOST = 255  # what ssh itself ends with when it has lost the machine (ssh(1))


class Way:
    """One ssh connection that lasts; commands are sessions in it."""

    def __init__(self, nest: Nest, name: str, address: str) -> None:
        self.name = name
        self._nest = nest
        self._socket = nest.home / "ways" / name
        self._address = address
        self._master: subprocess.Popen[bytes] | None = None
        self._forwards: list[tuple[str, str]] = []

    @property
    def enter(self) -> list[str]:
        """What runs a command line on the machine, given as one more word."""
        return ["ssh", "-S", str(self._socket), *IN_MASTER_ALONE, self._address]

    def open(self) -> None:
        """Connect, as soon as the machine lets us; what led somewhere leads there again."""
        wait_until(f"{self.name} lets us in", self._connected, timeout=OPEN_TIMEOUT, every=0.1)
        for option, leads in self._forwards:
            self._ask("forward", option, leads)

    def close(self) -> None:
        """Let go of the machine, be it there or not; sessions end."""
        if self._master is not None:
            for ssh in processes.children(self._master.pid):
                processes.signal(ssh, signal.SIGKILL)
            self._master.wait()
            self._master = None
            self._socket.unlink(missing_ok=True)

    def argv(self, argv: Sequence[str]) -> list[str]:
        """What runs a command on the machine."""
        return [*self.enter, shlex.join(argv)]

    def run(self, argv: Sequence[str], *, input: str | None, timeout: float, check: bool) -> Completed:
        """Run a command on the machine to its end."""
        self.must_be_open()
        done = shell.run(self.argv(argv), where=self.name, input=input, timeout=timeout, check=False)
        if done.code == LOST and not self._is_open():
            raise MachineError(f"{self.name} was lost while it ran `{' '.join(argv)}`: {done.stderr.strip()}")
        if check and done.code != 0:
            raise CommandFailed(self.name, argv, done.code, done.stdout, done.stderr)
        return done

    def spawn(self, argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        """Start a command on the machine; it ends when the connection does."""
        self.must_be_open()
        return subprocess.Popen(self.argv(argv), start_new_session=True, **how)

    def lead_out(self, path: str, port: int) -> None:
        """Have a unix socket of this host lead to a port of the machine's loopback, from now on."""
        self._lead("-L", f"{path}:127.0.0.1:{port}")

    def lead_in(self, there: str, path: str) -> None:
        """Have a unix socket of the machine lead to one of this host, from now on."""
        self._lead("-R", f"{there}:{path}")

    def must_be_open(self) -> None:
        """Raise `MachineError` where the machine is down."""
        if self._master is None:
            raise MachineError(f"node {self.name} has crashed and was not booted")

    def _lead(self, option: str, leads: str) -> None:
        self._forwards.append((option, leads))
        if self._master is not None:
            self._ask("forward", option, leads)

    def _connected(self) -> bool:
        """Whether there is a connection, after one try to make it."""
        self._master = self._master or self._connect()
        if self._master.poll() is not None:
            self._master = None
            return False
        return self._socket.exists()

    def _connect(self) -> subprocess.Popen[bytes]:
        options = {
            "ControlMaster": "yes",
            "ControlPath": str(self._socket),
            "IdentityFile": str(self._nest.home / Path(KEY).relative_to(HOME)),
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "StreamLocalBindUnlink": "yes",
            "ConnectTimeout": "5",
            "LogLevel": "ERROR",
        }
        flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        argv = self._nest.network(["ssh", "-F", "none", *flags, "-N", f"root@{self._address}"])
        no = subprocess.DEVNULL
        return subprocess.Popen(argv, start_new_session=True, stdin=no, stdout=no, stderr=no)

    def _is_open(self) -> bool:
        return self._master is not None and self._master.poll() is None

    def _ask(self, what: str, *words: str) -> None:
        host = self.enter
        shell.run([*host[:-1], "-O", what, *words, host[-1]], where=self.name)
