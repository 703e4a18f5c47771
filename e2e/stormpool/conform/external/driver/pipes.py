"""Plays what an agent does around a task: its directories and cgroups, and the pipes its output is read from.

Runs on a node, with nothing but Python's standard library, until standard input closes:

    python pipes.py ALLOC_DIR TASK [FILE ...]

With files the task's directory becomes its root: they are copied to where they are, below it, and the
allocation's shared directory is mounted in it. Prints JSON lines: "ready" first, with the cgroup that the
driver is told of, then what came out of which pipe (nomad, client/allocdir/task_dir.go; client/logmon;
client/lib/cgroupslib/editor.go of 1.10.5).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

AT_MOST = 1 << 16  # bytes read at once
CGROUPS = Path("/sys/fs/cgroup")


def build(alloc: Path, task: str, files: list[str]) -> dict[int, str]:
    """Make the directories and the pipes; return the pipes, open, with what each is for."""
    for name in ("alloc/data", "alloc/logs", "alloc/tmp", f"{task}/local", f"{task}/secrets", f"{task}/tmp"):
        (alloc / name).mkdir(parents=True)
        (alloc / name).chmod(0o777)
    for file in files:
        there = alloc / task / file.lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, there)
    if files:
        (alloc / task / "alloc").mkdir()
        subprocess.run(["mount", "--bind", alloc / "alloc", alloc / task / "alloc"], check=True)
    pipes = {}
    for which in ("stdout", "stderr"):
        path = alloc / "alloc" / "logs" / f".{task}.{which}.fifo"
        os.mkfifo(path)
        path.chmod(0o666)
        pipes[os.open(path, os.O_RDWR | os.O_NONBLOCK)] = which  # for writing too: it never ends so
    return pipes


def cgroups_of(name: str) -> list[Path]:
    """A task's cgroups, first the one that drivers are told of; none where the machine has none to give."""
    if (CGROUPS / "cgroup.controllers").exists():
        roots, found = [CGROUPS], [CGROUPS / "nomad.slice" / "share.slice" / f"{name}.scope"]
    else:
        roots = [CGROUPS / kind for kind in ("cpuset", "freezer", "cpu", "memory")]
        found = [roots[0] / "nomad" / "share", *(root / "nomad" / name for root in roots[1:])]
    return found if all(os.access(root, os.W_OK) for root in roots) else []


def make_cgroups(paths: list[Path]) -> str:
    """Make cgroups, with those above them; return which of them the driver is told of."""
    for path in paths:
        for level in (path.parent, path):
            level.mkdir(parents=True, exist_ok=True)
            take_over(level)
    return str(paths[0]) if paths else ""


def take_over(level: Path) -> None:
    """Give a cgroup its parent's processors and memory (version 1), or controllers (version 2)."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (level / name).exists() and not (level / name).read_text().strip():
            (level / name).write_text((level.parent / name).read_text())
    control = level.parent / "cgroup.subtree_control"
    if control.exists():
        with contextlib.suppress(OSError):  # what has processes of its own gives no controllers
            control.write_text("+cpuset +cpu +io +memory +pids")


def remove_cgroups(paths: list[Path]) -> None:
    """Remove a task's own; what still holds a process goes with the node."""
    for path in paths:
        if path.name != "share":
            with contextlib.suppress(OSError):
                path.rmdir()


def tell(said: dict[str, str]) -> None:
    """Print one JSON object."""
    print(json.dumps(said), flush=True)


def drain(pipes: dict[int, str]) -> None:
    """Tell what comes out of the pipes until standard input closes, and what is left in them then."""
    while True:
        ready = select.select([*pipes, sys.stdin], [], [])[0]
        for pipe, which in pipes.items():
            if pipe in ready:
                tell({which: os.read(pipe, AT_MOST).decode(errors="replace")})
        if ready == [sys.stdin]:
            return


if __name__ == "__main__":
    made = build(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    cgroups = cgroups_of(f"{Path(sys.argv[1]).name}.{sys.argv[2]}")
    tell({"ready": make_cgroups(cgroups)})
    drain(made)
    remove_cgroups(cgroups)
