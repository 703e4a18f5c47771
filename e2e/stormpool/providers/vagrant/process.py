"""A long-lived process on a machine: it lives on whatever becomes of the connection it was started over."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stormpool.errors import TimedOut

if TYPE_CHECKING:
    from stormpool.providers.vagrant.node import VagrantNode

HOME = "/lab/processes"
LOOK_EVERY = "0.2"  # seconds between two looks at whether it lives
CUT_OFF = -9  # how a process ended whose machine lost its power
START = Path(__file__).with_name("start.sh")
# Tells what it wrote from a byte on, as it comes, until it has ended.
FOLLOW = "cd {home} && tail --pid={pid} --sleep-interval={every} --bytes=+{after} --follow log"


class VagrantProcess:
    """A long-lived process on a machine."""

    def __init__(self, name: str, node: VagrantNode, argv: Sequence[str], log: Path) -> None:
        self.name = name
        self.log = log
        self._node = node
        self._home = f"{HOME}/{node.next_number()}"
        self._first = log.stat().st_size if log.exists() else 0  # byte of the log that is its own
        self.pid = int(node.run(["sh", str(START), self._home, *argv]).stdout)
        self._follower: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self.follow(0)

    def follow(self, heard: int) -> None:
        """Take down what it says but for so many bytes, and know when it ends."""
        self._code = None
        follow = FOLLOW.format(home=self._home, pid=self.pid, every=LOOK_EVERY, after=heard + 1)
        with self.log.open("ab") as output:
            self._follower = self._node.way.spawn(
                ["sh", "-c", follow], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
            )

    def let_go(self) -> int:
        """Follow it no more; how many bytes of it were taken down."""
        self._let_go()
        return self.log.stat().st_size - self._first

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.code() is None

    def code(self) -> int | None:
        """Its exit code once it has ended (negative: the signal that ended it)."""
        if self._code is None and self._follower is not None and self._follower.poll() is not None:
            self._code = self._ended()
        return self._code

    def lost(self) -> None:
        """Its machine has lost its power."""
        self._let_go()
        if self._code is None:
            self._code = CUT_OFF

    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended."""
        if self.alive():
            self._node.run(["kill", f"-{number}", str(self.pid)], check=False)

    def wait(self, timeout: float) -> int:
        """Wait until it ends and return its exit code."""
        if self._code is None and self._follower is not None:
            try:
                self._follower.wait(timeout)
            except subprocess.TimeoutExpired as expired:
                raise TimedOut(f"process {self.name} did not end within {timeout:g} s") from expired
        code = self.code()
        return CUT_OFF if code is None else code

    def _ended(self) -> int:
        said = self._node.run(
            ["sh", "-c", f"until [ -s {self._home}/code ]; do sleep 0.02; done; cat {self._home}/code"]
        )
        code = int(said.stdout)
        return 128 - code if code > 128 else code  # as a shell tells of a signal (dash(1))

    def _let_go(self) -> None:
        if self._follower is not None:
            self._follower.kill()
            self._follower.wait()
            self._follower = None


def environment(env: Mapping[str, str]) -> list[str]:
    """What gives a command more variables."""
    return ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
