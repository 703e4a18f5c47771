"""A headless Chromium, driven over the DevTools protocol through a pipe: no port, no library, no network.

The protocol: https://chromedevtools.github.io/devtools-protocol. Messages are JSON, each ended by a NUL; the
browser reads them from its descriptor 3 and answers on its 4.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stormpool.wait import wait_until

ARTEFACTS = Path(os.environ.get("STORMPOOL_ARTEFACTS", "runs/artefacts"))
PATIENCE = 60.0  # seconds until an answer must have come
FREE = 10  # descriptors from here on are not those the browser reads and writes
FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever it asked for, it would not find it
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--password-store=basic",
)


def program() -> str | None:
    """Where Chromium is, if anywhere."""
    return shutil.which("chromium")


class Browser:
    """A browser with one page."""

    def __init__(self, to: int, of: int) -> None:
        self._to = to
        self._of = of
        self._read = b""
        self._asked = 0
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something and return the answer; raises when there is none, or it is an error."""
        self._asked += 1
        message: dict[str, Any] = {"id": self._asked, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        _write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next(PATIENCE)
            if said.get("id") == self._asked:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                answer: dict[str, Any] = said["result"]
                return answer

    def wait_for(self, event: str) -> dict[str, Any]:
        """The next event of a name, or one that has come already; it is taken off."""
        for number, said in enumerate(self.events):
            if said["method"] == event:
                return self.events.pop(number)
        while True:
            said = self._next(PATIENCE)
            if said.get("method") == event:
                return self.events.pop()

    def open(self, file: Path) -> None:
        """Open a file, and wait until it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=file.absolute().as_uri())
        self.wait_for("Page.loadEventFired")

    def size(self, width: int, height: int = 1000, *, dark: bool = False) -> None:
        """Give the page a size in pixels, and a colour scheme."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to, awaited; raises when it throws."""
        said = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise RuntimeError(json.dumps(said["exceptionDetails"])[:1000])
        return said["result"].get("value")

    def frames(self, act: str, count: int = 120) -> list[float]:
        """Milliseconds from frame to frame while `act`, of the frame's number `i`, is done in each."""
        times: list[float] = self.value(
            "new Promise((done) => { const times = []; let last = 0, i = 0; const turn = (now) => {"
            f"if (last) times.push(now - last); last = now; if (i === {count}) return done(times);"
            f"({act})(i++); requestAnimationFrame(turn); }}; requestAnimationFrame(turn); }})"
        )
        return times

    def busy(self) -> float:
        """Milliseconds of processor time that the page's main thread has spent so far."""
        self.ask("Performance.enable", timeDomain="threadTicks")
        told = {each["name"]: each["value"] for each in self.ask("Performance.getMetrics")["metrics"]}
        return 1000 * float(told["TaskDuration"])

    def settle(self) -> None:
        """Wait until what was done is drawn, logs included."""
        self.value("new Promise((done) => setTimeout(() => requestAnimationFrame(() => done()), 150))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A mouse event, as a user's."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, name: str, *, whole: bool = False) -> Path:
        """Keep a picture of the page among the artefacts."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        said = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(said["data"]))
        return path

    def complaints(self) -> list[str]:
        """All the page has complained of: errors, warnings, what its policy kept from it."""
        self.value("0")
        bad = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(each["params"])[:500] for each in self.events if each["method"] in bad]

    def requests(self) -> list[str]:
        """All addresses it has asked for."""
        asked = [each for each in self.events if each["method"] == "Network.requestWillBeSent"]
        return [each["params"]["request"]["url"] for each in asked]

    def _next(self, patience: float) -> dict[str, Any]:
        until = time.monotonic() + patience
        while b"\0" not in self._read:
            if not select.select([self._of], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError(f"the browser said nothing for {patience} s")
            got = os.read(self._of, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self._read += got
        message, _, self._read = self._read.partition(b"\0")
        said: dict[str, Any] = json.loads(message)
        if "method" in said:
            self.events.append(said)
        return said


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a home of its own; ended, and its files removed, whatever happens."""
    found = program()
    if found is None:
        raise FileNotFoundError("chromium is not installed: ci/setup --report")
    home = tempfile.mkdtemp(prefix="stormpool-chromium-")
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, home, ignore_errors=True)
        theirs_in, ours_out = (_high(each) for each in os.pipe())
        undo.callback(os.close, ours_out)
        ours_in, theirs_out = (_high(each) for each in os.pipe())
        undo.callback(os.close, ours_in)
        pid = _start(found, home, theirs_in, theirs_out)
        undo.callback(_end, pid, home)
        for each in (theirs_in, theirs_out):
            os.close(each)
        yield Browser(ours_out, ours_in)


def _high(descriptor: int) -> int:
    """The same descriptor under a number that the browser's own do not take."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FREE)
    os.close(descriptor)
    return moved


def _start(found: str, home: str, reads: int, writes: int) -> int:
    log = f"{home}/chromium.log"
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox refuses root
    private = {"HOME": home, "TMPDIR": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
    return os.posix_spawn(
        found,
        [found, *FLAGS, *root, f"--user-data-dir={home}/profile", "about:blank"],
        {**os.environ, **private},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, reads, 3),
            (os.POSIX_SPAWN_DUP2, writes, 4),
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setpgroup=0,
    )


def _end(pid: int, home: str) -> None:
    """End the browser, and wait until all it started has gone: it writes to its home until then."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_until("the browser has gone", lambda: users_of(home), lambda left: not left, timeout=PATIENCE)


def users_of(home: str) -> list[str]:
    """The processes that were started with this home."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if home.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
