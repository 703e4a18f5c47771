"""Runs one task of the sample driver, outlives the driver, and writes down how the task ended.

    python -I -S conform_supervisor.py DIRECTORY   with what is to be run in DIRECTORY/spec.json

Prints one line: what was started, or why nothing was. Of one task there is one: who comes second only tells
what the first has started.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MOUNT = """mkdir -p "$2"
mount --bind "$1" "$2"
[ "$3" = rw ] || mount -o remount,bind,ro "$2"
shift 3
exec "$@"
"""
LOSES = '"$@" | { head -c 4096; cat >/dev/null; }'


def write(path: Path, said: Any) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(said))
    draft.rename(path)


def tell(line: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        print(json.dumps(line), flush=True)
    os.dup2(os.open("/dev/null", os.O_RDWR), 1)


def argv_of(spec: dict[str, Any]) -> list[str]:
    argv: list[str] = spec["argv"]
    if spec["loses"]:
        argv = ["sh", "-c", LOSES, "sh", *argv]
    if spec["mounts"]:
        argv = [
            *(["unshare", "--mount", "--propagation", "private"] if spec["unshare"] else []),
            *mounting(spec, argv),
        ]
    return argv


def mounting(spec: dict[str, Any], argv: list[str]) -> list[str]:
    for host, task, mode in spec["mounts"]:
        argv = ["sh", "-c", MOUNT, "sh", host, task, mode, *argv]
    return argv


def main(directory: Path) -> None:
    spec = json.loads((directory / "spec.json").read_text())
    lock = (directory / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        while not (directory / "started.json").exists():
            time.sleep(0.01)
        tell(json.loads((directory / "started.json").read_text()))
        return
    outputs = [os.open(path, os.O_WRONLY) for path in spec["outputs"]]
    try:
        task = subprocess.Popen(
            argv_of(spec),
            env=spec["env"],
            stdin=subprocess.DEVNULL,
            stdout=outputs[0],
            stderr=outputs[1],
            start_new_session=True,
            user=spec["user"] or None,
            cwd=spec["directory"],
        )
    except (OSError, KeyError) as error:
        tell({"error": str(error)})
        return
    started = {"supervisor": os.getpid(), "task": task.pid, "at": time.time()}
    write(directory / "started.json", started)
    tell(started)
    code = task.wait()
    ended = {"code": max(code, 0), "signal": max(-code, 0), "at": time.time()}
    if code < 0:
        ended["code"] = 128 - code
    write(directory / "ended.json", ended)
    while spec["lingers"] and not (directory / "forgotten").exists():
        time.sleep(0.02)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(Path(sys.argv[1]))
