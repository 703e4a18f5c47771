"""How namespaces are made and entered."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
BRIDGE = "lab0"

Argv = Sequence[str]

USER = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
CGROUP = ["--cgroup"] if os.geteuid() == 0 else []


def enter(init: int) -> list[str]:
    """What runs a command in all the namespaces of an init."""
    return ["nsenter", f"--target={init}", *USER, "--mount", "--uts", "--net", "--pid", *CGROUP, "--"]


def network(init: int) -> list[str]:
    """What runs a command of this host in the network of an init."""
    return ["nsenter", f"--target={init}", *USER, "--net", "--"]


def join(dirs: Sequence[str]) -> list[str]:
    """What runs a command in cgroups."""
    return ["sh", str(HERE / "join.sh"), *dirs, "--"] if dirs else []
