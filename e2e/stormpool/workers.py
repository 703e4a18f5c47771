"""Several workers at once: runs of one story are handed out to labs as they get free."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stormpool.errors import MachineError
from stormpool.worker import Done, Order

ENDED_WITHIN = 60.0  # seconds that a worker may take to end its lab


@dataclass(frozen=True)
class Told:
    """What a worker says while a run goes on."""

    worker: int
    what: str


class Worker:
    """One process with one lab."""

    def __init__(self, number: int, argv: list[str], log: Path, told: Callable[[Told], None]) -> None:
        self._number = number
        self._argv = [sys.executable, "-m", "stormpool.worker", *argv]
        self._log = log
        self._told = told
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, order: Order) -> Done:
        """Have a run made. Raises `MachineError` when the process ends instead; the next one is a new one."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                said: dict[str, Any] = msgspec.json.decode(line)
                if "seconds" in said:
                    return msgspec.convert(said, Done)
                self._told(Told(self._number, said["what"]))
        except BrokenPipeError:
            pass
        code = process.wait()
        self._close()
        raise MachineError(f"the worker ended with {code}; its last words: {self._last_words()}")

    def interrupt(self) -> None:
        """Have it end its lab now."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Have it end its lab, and return when it is gone."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(ENDED_WITHIN)
            self._close()

    def _start(self) -> subprocess.Popen[bytes]:
        # In a session of its own: a Ctrl-C at the terminal is for the command line to pass on.
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def _close(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return " / ".join(lines[-4:]) or "none"


class Workers:
    """Labs in parallel. Leaving it ends them all."""

    def __init__(self, many: int, argv: list[str], out: Path, told: Callable[[Told], None]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._workers = [
            Worker(number, argv, out / f"worker{number}.log", told) for number in range(1, many + 1)
        ]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for worker in self._workers:
                worker.interrupt()
        for worker in self._workers:
            worker.end()

    def run(self, orders: Iterable[tuple[str, Order]]) -> Iterator[tuple[str, Done | MachineError]]:
        """Have every order carried out, and tell of each by its name as it is done.

        Orders are taken one at a time, as a lab gets free: what hands them out can stop when it likes.
        """
        taking, done = threading.Lock(), queue.Queue[tuple[str, Done | MachineError] | None]()
        waiting = iter(orders)

        def take() -> tuple[str, Order] | None:
            with taking:
                return next(waiting, None)

        def work(worker: Worker) -> None:
            while (taken := take()) is not None:
                name, order = taken
                try:
                    done.put((name, worker.run(order)))
                except MachineError as error:
                    done.put((name, error))
            done.put(None)

        for worker in self._workers:
            threading.Thread(target=work, args=(worker,), name="worker", daemon=True).start()
        going = len(self._workers)
        while going:
            one = done.get()
            if one is None:
                going -= 1
            else:
                yield one
