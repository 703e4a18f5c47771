"""A tap forgets what has ended."""

import socket
import threading
from pathlib import Path

from stormpool.tap.proxy import Tap
from stormpool.tap.report import Report
from stormpool.wait import wait_until


def test_connections_that_have_ended_are_forgotten(tmp_path: Path) -> None:
    collector, plugin = (_listens(tmp_path / name) for name in ("collector", "plugin"))
    report = Report(str(tmp_path / "collector"), "{}")
    heard, _ = collector.accept()
    tap = Tap(str(tmp_path / "tap"), str(tmp_path / "plugin"), report)
    serving = threading.Thread(target=tap.serve)
    serving.start()
    for _ in range(5):
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(tmp_path / "tap"))
            there, _ = plugin.accept()
            with there:
                wait_until("it is kept", lambda: len(tap._connections), lambda kept: kept == 1, timeout=5.0)
        wait_until("it has ended", lambda: all(each.over for each in tap._connections.values()), timeout=5.0)
        assert len(tap._connections) == 1
    heard.close()
    serving.join(5.0)
    for each in (collector, plugin, report.socket, tap._listener):
        each.close()


def _listens(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen()
    return made
