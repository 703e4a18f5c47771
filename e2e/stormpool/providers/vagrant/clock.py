"""What a machine's clock shows against this host's: machines have monotonic clocks of their own."""

from __future__ import annotations

import subprocess
import time

from stormpool.errors import MachineError
from stormpool.providers.vagrant.way import Way
from stormpool.shell import bounded

WITHIN = 60.0  # seconds that all of it may take; 0.5 as seen
ASKED = 20  # times; the answer that took the least time says most
TELL = "import sys, time\nfor _ in sys.stdin: print(time.monotonic_ns(), flush=True)"

SET = """import sys, time
time.clock_settime_ns(time.CLOCK_REALTIME, time.monotonic_ns() + int(sys.argv[1]))"""


def ahead(way: Way) -> int:
    """Nanoseconds that a machine's CLOCK_MONOTONIC is ahead of this host's; off by half a round trip at most.

    As NTP has it (RFC 5905, section 8), with the sample of the shortest round trip, 2 to 4 ms over ssh.
    """
    samples: list[tuple[int, int]] = []
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with way.spawn(["python3", "-I", "-S", "-c", TELL], **pipes) as telling, bounded(telling, WITHIN):
        if telling.stdin is None or telling.stdout is None:
            raise MachineError("the clock cannot be asked")
        for _ in range(ASKED):
            asked = time.monotonic_ns()
            telling.stdin.write(b"\n")
            telling.stdin.flush()
            said = telling.stdout.readline()
            heard = time.monotonic_ns()
            if not said:
                raise MachineError(f"{way.name} does not tell its time")
            samples.append((heard - asked, int(said) - (asked + heard) // 2))
    return min(samples)[1]


def set_right(way: Way, ahead: int) -> None:
    """Set a machine's wall clock to this host's, as right as `ahead` is."""
    behind = time.time_ns() - time.monotonic_ns() - ahead  # of its monotonic clock, to what it is to show
    way.run(["python3", "-I", "-S", "-c", SET, str(behind)], input=None, timeout=30, check=True)
