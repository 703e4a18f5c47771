"""The cgroups of a lab's nodes: made on this host, seen by each node as the whole of them.

An agent's drivers make cgroups at paths of their own choosing (Nomad's executor: `/nomad/...`, whatever the
configuration says), so two labs would share them. Each node therefore gets a directory in every hierarchy,
mounted over the hierarchy's root in the node. Both versions are served; without root there are none, and
drivers that need them say so.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from stormpool.wait import wait_until

ROOT = Path("/sys/fs/cgroup")
OURS = "stormpool"


def hierarchies() -> list[Path]:
    """Roots of the cgroup hierarchies of this host that we may write to."""
    if os.geteuid() != 0 or not os.access(ROOT, os.W_OK):
        return []
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return sorted(path for path in ROOT.iterdir() if not path.is_symlink() and os.path.ismount(path))


def of_lab(lab_id: str) -> list[str]:
    """The cgroups a lab's nodes are made below, one in each hierarchy."""
    return [str(root / OURS / lab_id) for root in hierarchies()]


def of_node(lab_id: str, node: str) -> list[str]:
    """The cgroups of one node, one in each hierarchy."""
    return [f"{lab}/{node}" for lab in of_lab(lab_id)]


def make(lab_id: str, node: str) -> list[str]:
    """Make the cgroups of one node, ready to hold processes, and return them."""
    made = of_node(lab_id, node)
    for directory in made:
        path = Path(directory)
        path.mkdir(parents=True, exist_ok=True)
        for level in (path.parents[1], path.parents[0], path):
            _inherit(level)
    return made


def remove(directories: list[str]) -> None:
    """Remove cgroups with all below them; their processes must have ended. Idempotent."""
    for directory in directories:
        path = Path(directory)
        wait_until(f"cgroup {path} is empty", partial(_remove_tree, path), timeout=10.0)
        try:
            path.parent.rmdir()
        except OSError:  # another lab's cgroups are there, or it is gone
            continue


def _inherit(path: Path) -> None:
    """A cpuset (version 1) holds no process until its processors are named; version 2 delegates by name."""
    for name in ("cpuset.mems", "cpuset.cpus"):
        if (path / name).exists() and (path.parent / name).exists():
            (path / name).write_text((path.parent / name).read_text())
    if (path / "cgroup.controllers").exists() and (path.parent / "cgroup.subtree_control").exists():
        wanted = (path.parent / "cgroup.controllers").read_text().split()
        (path.parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))


def _remove_tree(path: Path) -> bool:
    """Whether nothing is left of a cgroup after one try to remove it, leaves first."""
    for directory, _, _ in os.walk(path, topdown=False):
        try:
            Path(directory).rmdir()
        except OSError:
            return False
    return not path.exists()
