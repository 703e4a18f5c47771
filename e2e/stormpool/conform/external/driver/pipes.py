"""Plays what an agent does around a task: its directories, and the pipes its output is read from.

Runs on a node, with nothing but Python's standard library, until standard input closes:

    python pipes.py ALLOC_DIR TASK [FILE ...]

With files the task's directory becomes its root: they are copied to where they are, below it, and the
allocation's shared directory is mounted in it. Prints JSON lines: "ready" first, then what came out of which
pipe (nomad, client/allocdir/task_dir.go; client/logmon).
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

AT_MOST = 1 << 16  # bytes read at once


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
    tell({"ready": ""})
    drain(made)
