"""A tap on a plugin that an agent starts itself: stands in the agent's `plugin_dir` in the plugin's place.

    python -m stormpool.tap.shim --report SOCKET --hello JSON -- PLUGIN ARGUMENT...

It starts the plugin as the agent would, reads where that listens, listens itself, and tells the agent so.
The plugin need not know of it: it ends when the plugin ends, with what that ended with; what the agent tells
it by a signal the plugin hears; and when it is killed the plugin is (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from stormpool.goplugin.handshake import SOCKET_DIRECTORY, Handshake, NoHandshake
from stormpool.tap.proxy import Tap
from stormpool.tap.report import Report

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the plugin; it ends with this process."""
    plugin = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *argv], stdout=subprocess.PIPE)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: plugin.send_signal(number))
    return plugin


def stand_between(output: IO[bytes], directory: Path, report: Report) -> None:
    """Read the plugin's line, listen, and say the agent a line of one's own; what is no such line goes on."""
    for line in output:
        try:
            said = Handshake.parse(line.decode(errors="replace"))
        except NoHandshake:
            _pass_on(line)
            continue
        socket = directory / "tap.sock"
        tap = Tap(str(socket), said.address, report)
        threading.Thread(target=tap.serve, name="tap", daemon=True).start()
        _pass_on(said.at(str(socket)).line.encode() + b"\n")
        break
    for line in output:
        _pass_on(line)


def _pass_on(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def end_as(code: int) -> None:
    """End with an exit code, or by a signal (negative, as `subprocess` has it)."""
    if code < 0:
        if -code in PASSED_ON:
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
        assert plugin.stdout is not None
        stand_between(plugin.stdout, directory, report)
        code = plugin.wait()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    end_as(code)


if __name__ == "__main__":
    main()
