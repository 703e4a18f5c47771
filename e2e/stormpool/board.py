"""Live progress of several runs: a line each on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

PLAIN_EVERY = 10.0  # seconds between two lines of progress where there is no terminal


class Board:
    """What is shown while runs go on."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self.total = total
        self._done = 0
        self._going: dict[Hashable, Going] = {}
        self._foot = ""
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __enter__(self) -> Board:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._draw,
                refresh_per_second=8,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Off the terminal while something else is printed there."""
        self.__exit__()
        yield
        self.__enter__()  # with a new Live: one that is started again draws over what was printed

    def told(self, run: Hashable, line: str) -> None:
        """A run has come to this."""
        with self._lock:
            self._going.setdefault(run, Going()).line = line
        if not self._console.is_terminal:
            self._console.print(line, highlight=False, markup=False)

    def finished(self, run: Hashable, foot: str = "") -> None:
        """A run is over; `foot`: what is to be said of all of them together."""
        with self._lock:
            self._going.pop(run, None)
            self._done += 1
            self._foot = foot

    def _draw(self) -> Table:
        table = Table.grid()
        with self._lock:
            for going in self._going.values():
                table.add_row(going.drawn())
            table.add_row(
                f"{self._done} of {self.total} runs done" + (f", {self._foot}" if self._foot else "")
            )
        return table


class Going:
    """A run that goes on, as a line of the board."""

    def __init__(self) -> None:
        self.line = ""
        self._began = time.monotonic()
        self._spinner = Spinner("dots")

    def drawn(self) -> Spinner:
        """The line as it is now."""
        self._spinner.update(text=Text(f"{self.line}  {time.monotonic() - self._began:.0f} s"))
        return self._spinner


@contextmanager
def spinner(what: str) -> Iterator[Callable[[str], None]]:
    """Progress of one thing that takes a while."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(what) as status:
            yield status.update
        return
    last = time.monotonic()

    def tell(said: str) -> None:
        nonlocal last
        if time.monotonic() - last > PLAIN_EVERY:
            last = time.monotonic()
            console.print(said, highlight=False, markup=False)

    yield tell
