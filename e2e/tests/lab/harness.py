"""The command line as a user calls it, and a look at the host that asks no lab."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
GOLDEN = "scenarios/csi/test_controller_calls_are_serialized.py"
OF_MACHINES = ("qemu-system", "libvirtd", "vagrant", "dnsmasq", "nbdkit")
WORDS = ("nomad", "zfs-fuse", "tini", "socat", "nsenter", "stormpool", "zfs_csi", *OF_MACHINES)

CommandLine = Callable[..., subprocess.CompletedProcess[str]]


def command(*argv: str | Path) -> list[str]:
    """The command line's argv."""
    return [sys.executable, "-c", "from stormpool.cli import main; main()", *map(str, argv)]


def results(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What `--json` printed."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def why_not(result: dict[str, Any]) -> list[str]:
    """Why a run's guarantees did not hold, or what kept it from being judged."""
    return [each["why"] for each in result["verdicts"] if each["outcome"] != "valid"] + [result["error"]]


def golden(out: Path, provider: str = "netns") -> subprocess.Popen[bytes]:
    """The demonstration on Nomad 1.6.1, in the background."""
    return subprocess.Popen(
        command(
            "run", GOLDEN, "--nomad", "1.6.1", "--seed", "1", "--provider", provider, "--out", out, "--json"
        ),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def only_cgroups(left: set[str]) -> bool:
    """At once after a SIGKILL only what the kernel does not undo is left: cgroups, empty."""
    return all(each.startswith("cgroup ") for each in left)


class Host:
    """What this host shows of labs: processes, mounts, links, cgroups, sockets, directories at its root."""

    def __init__(self) -> None:
        self.before = self.look()

    def look(self) -> set[str]:
        """Everything a lab could leave."""
        mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
        links = {line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]}
        cgroups = {str(path) for path in Path("/sys/fs/cgroup").rglob("*stormpool*") if path.is_dir()}
        cgroups |= {str(path) for path in Path("/sys/fs/cgroup").glob("*/nomad*") if path.is_dir()}
        top = {str(path) for directory in ("/", "/run", "/var/lib/zfs") for path in Path(directory).glob("*")}
        return {
            *(f"process {each}" for each in self._processes()),
            *(f"mount {each}" for each in mounts),
            *(f"link {each}" for each in links),
            *(f"cgroup {each}" for each in cgroups),
            *(f"file {each}" for each in top),
        }

    def left(self) -> set[str]:
        """What is there now and was not before."""
        return self.look() - self.before

    def _processes(self) -> set[str]:
        found = set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                argv = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                kind = (path / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if path.name != str(os.getpid()) and kind != "Z" and any(word in argv for word in WORDS):
                found.add(f"{path.name} {argv[:120]}")
        return found
