"""What this host must have to run labs of namespaces, each thing checked by trying it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

from stormpool.providers import cgroups

# Command → the Debian package it comes in.
COMMANDS = {
    "zfs-fuse": "zfs-fuse",
    "zpool": "zfs-fuse",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "tini": "tini",
    "socat": "socat",
    "busybox": "busybox-static",
}
SBIN = "/usr/sbin:/sbin"  # where an ordinary user's PATH does not look


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    what: str
    well: bool
    found: str
    mend: str


def required() -> list[Check]:
    """What no lab can do without."""
    return [*(command(name, package) for name, package in COMMANDS.items()), _fuse(), _namespaces()]


def missing(looked_at: list[Check]) -> list[str]:
    """What is not well, each with the command that mends it."""
    return [f"{check.what}: {check.found} ({check.mend})" for check in looked_at if not check.well]


def optional() -> list[Check]:
    """What some scenarios need, and what is used instead."""
    return [_cgroups(), firewall(), netem()]


def path(name: str) -> str:
    """Where a command is; its name when it is nowhere."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{SBIN}") or name


@cache
def firewall() -> Check:
    """Packets between nodes are dropped by nftables."""
    argv = [*_unshare(), "--net", path("nft"), "add", "table", "inet", "stormpool"]
    return Check("nftables", *_tried(argv), "apt-get install nftables; without, no partitions")


@cache
def netem() -> Check:
    """Links are shaped by the kernel's netem, or by a relay."""
    argv = [*_unshare(), "--net", path("tc"), "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    mend = "modprobe sch_netem; without, packets on shaped links go through a process of the lab's own"
    return Check("netem", *_tried(argv), mend)


@cache
def packets() -> Check:
    """The relay of a shaped link reads and writes packets."""
    code = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
    argv = [*_unshare(), "--net", sys.executable, "-I", "-S", "-c", code]
    return Check("packet sockets", *_tried(argv), "a kernel with CONFIG_PACKET; without, no shaped links")


def command(name: str, package: str) -> Check:
    """Whether a command is there; `package`: what `apt-get install` is to be given for it."""
    found = path(name)
    well = found != name
    return Check(name, well, found if well else "not there", f"apt-get install {package}")


def _unshare() -> list[str]:
    return ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def _fuse() -> Check:
    """zfs-fuse mounts its file systems through /dev/fuse."""
    mend = "modprobe fuse; for an ordinary user, chmod 0666 /dev/fuse (Debian's default)"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return Check("/dev/fuse", False, str(error), mend)
    return Check("/dev/fuse", True, "opens", mend)


def _namespaces() -> Check:
    kinds = ["--mount", "--net", "--pid", "--fork", "--uts", "--mount-proc"]
    mend = "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root"
    return Check("namespaces", *_tried([*_unshare(), *kinds, "true"]), mend)


def _tried(argv: list[str]) -> tuple[bool, str]:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return done.returncode == 0, done.stderr.strip() or "can be made"


def _cgroups() -> Check:
    """Nomad's exec driver needs cgroups of its own."""
    found = cgroups.hierarchies()
    return Check(
        "cgroups",
        bool(found),
        f"{len(found)} hierarchies can be written to" if found else "none can be written to",
        "run as root; without, consumers run under the lab's own driver instead of Nomad's exec driver",
    )
