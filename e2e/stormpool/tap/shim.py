"""A tap on a plugin that an agent starts itself: stands in the agent's `plugin_dir` in the plugin's place.

    python -m stormpool.tap.shim --report SOCKET --hello JSON -- PLUGIN ARGUMENT...

It starts the plugin as the agent would, reads where that listens, listens itself, and tells the agent so.
The plugin need not know of it: it ends when the plugin ends, with what that ended with; what the agent tells
it by a signal the plugin hears; and when it is killed the plugin is (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from stormpool.goplugin.handshake import SOCKET_DIRECTORY, Handshake, NoHandshake
from stormpool.tap.proxy import Tap
from stormpool.tap.report import Report

PASSED_ON = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
CHUNK = 1 << 16  # bytes read at once
OUTPUT = 1  # the descriptor of standard output
# Seconds that what the plugin said last may take to be passed on: another may hold its output open for ever.
LAST_WORDS = 0.2


def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the plugin; it ends with this process."""
    command = ["setpriv", "--pdeathsig", "KILL", "--", *argv]
    plugin = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: plugin.send_signal(number))
    return plugin


def stand_between(output: IO[bytes], directory: Path, report: Report) -> None:
    """Pass on what the plugin prints; in its line's place the agent reads where the tap listens.

    An end that is closed closes the other, as if the plugin wrote to the agent itself.
    """
    try:
        with output:
            for line in _printed(output, output.readline):
                try:
                    said = Handshake.parse(line.decode(errors="replace"))
                except NoHandshake:
                    _pass_on(line)
                else:
                    _pass_on(_tapped(said, directory, report).line.encode() + b"\n")
                    break
            for data in _printed(output, lambda: output.read(CHUNK)):
                _pass_on(data)
    finally:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), OUTPUT)


def _tapped(said: Handshake, directory: Path, report: Report) -> Handshake:
    """Listen in the plugin's place, and what it says then."""
    socket = str(directory / "tap.sock")
    tap = Tap(socket, said.where, report)
    threading.Thread(target=tap.serve, name="tap", daemon=True).start()
    return said.at(socket)


def _printed(output: IO[bytes], read: Callable[[], bytes]) -> Iterator[bytes]:
    """What is printed, piece by piece, until it ends or nobody reads it on the other side any more."""
    poll = select.poll()
    poll.register(output, select.POLLIN)
    poll.register(OUTPUT, 0)  # which tells of nothing but that
    while all(descriptor != OUTPUT for descriptor, _ in poll.poll()):
        data = read()
        if not data:
            return
        yield data


def _pass_on(data: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads it: the next look sees that
        while data:
            data = data[os.write(OUTPUT, data) :]


def end_as(code: int) -> None:
    """End with an exit code, or by a signal (negative, as `subprocess` has it)."""
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL, which does what it does anyway
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def main() -> None:
    """Run a plugin behind a tap."""
    parser = argparse.ArgumentParser(prog="stormpool.tap.shim")
    parser.add_argument("--report", required=True, help="the collector's socket")
    parser.add_argument("--hello", required=True, help="what to tell the collector first, JSON")
    parser.add_argument("plugin", nargs="+", help="the plugin's own command")
    asked = parser.parse_args()
    report = Report(asked.report, asked.hello)
    directory = Path(tempfile.mkdtemp(prefix="tap", dir=os.environ.get(SOCKET_DIRECTORY) or None))
    try:
        plugin = start(asked.plugin)
        between = threading.Thread(target=stand_between, args=(plugin.stdout, directory, report), daemon=True)
        between.start()
        code = plugin.wait()
        between.join(LAST_WORDS)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    end_as(code)


if __name__ == "__main__":
    main()
