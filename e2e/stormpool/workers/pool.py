"""Several workers at once: runs of one story are handed out to labs as they get free."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from stormpool import hand, ledger
from stormpool.errors import MachineError
from stormpool.workers.worker import Done, Order

ENDED_WITHIN = 60.0  # seconds that a worker may take to end its lab
GIVE_UP_AFTER = 3  # runs in a row that the machine failed
Said = tuple[str, Done | MachineError] | Exception | None  # None: a worker has no more to do


@dataclass(frozen=True)
class Told:
    """What a worker says while a run goes on."""

    worker: int
    what: str


class Patience:
    """With a machine that fails one run after another: each would take its time, and nothing come of it."""

    def __init__(self) -> None:
        self._failures = 0

    def hear(self, failure: MachineError | None) -> None:
        """One more run, and what failed it. Raises that when too many in a row did."""
        self._failures = self._failures + 1 if failure else 0
        if failure and self._failures >= GIVE_UP_AFTER:
            raise failure


class Worker:
    """One process with one lab."""

    def __init__(self, number: int, argv: list[str], log: Path, told: Callable[[Told], None]) -> None:
        self._number = number
        self._argv = argv
        self._log = log
        self._told = told
        self._process: subprocess.Popen[bytes] | None = None
        self._over = False  # no process is started any more
        self._lock = threading.Lock()

    def run(self, order: Order) -> Done:
        """Have a run made. Raises `MachineError` when the process ends instead; the next one is a new one."""
        process = self._started()
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
            trouble = ""
        except Exception as error:  # it is gone, or says what is no word of ours
            trouble = f" ({error})"
        code = self._leave(process)
        raise MachineError(f"the worker ended with {code}{trouble}; its last words: {self._last_words()}")

    def interrupt(self) -> None:
        """Have it end its lab now, and start no other."""
        with self._lock:
            self._over = True
            if self._process is not None:
                self._process.send_signal(signal.SIGINT)

    def end(self) -> str:
        """Have it end its lab, and return when it is gone: what went wrong with that, if something did."""
        with self._lock:
            self._over = True
            process = self._process
        if process is None:
            return ""
        code = self._leave(process)
        return f"worker {self._number} ended with {code}: {self._last_words()}" if code else ""

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._over:
                raise MachineError("no lab is brought up any more")
            if self._process is None:
                self._process = self._start()
            return self._process

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

    def _leave(self, process: subprocess.Popen[bytes]) -> int:
        """Close its orders, and return what it ended with; one that takes too long is killed."""
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # what it never read
            process.stdin.close()
        try:
            code = process.wait(ENDED_WITHIN)
        except subprocess.TimeoutExpired:
            code = self._kill(process)
        if process.stdout is not None:
            process.stdout.close()
        with self._lock:
            if self._process is process:
                self._process = None
        return code

    def _kill(self, process: subprocess.Popen[bytes]) -> int:
        """Kill it with all it started; the kernel ends its lab then, and what that leaves is undone here."""
        mine = [lab for lab in ledger.labs() if lab.harness[0] == process.pid and ledger.same(lab.harness)]
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        for lab in mine:
            hand.down(lab)
        return code

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        return " / ".join(lines[-4:]) or "none"


class Workers:
    """Labs in parallel. Leaving it ends them all.

    Raises `MachineError` where that went wrong, as when a lab left something behind; says so where something
    else was raised.
    """

    def __init__(
        self,
        many: int,
        argv: list[str],
        out: Path,
        told: Callable[[Told], None],
        program: tuple[str, ...] = (sys.executable, "-m", "stormpool.workers.worker"),
    ) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._over = threading.Event()
        self._workers = [
            Worker(number, [*program, *argv], out / f"worker{number}.log", told)
            for number in range(1, many + 1)
        ]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if kind is not None:
            for worker in self._workers:
                worker.interrupt()
        # All at once, and all to their end, whatever one of them does.
        with ThreadPoolExecutor(len(self._workers), thread_name_prefix="end") as threads:
            ending = [threads.submit(worker.end) for worker in self._workers]
        troubles = [str(trouble) for done in ending if (trouble := done.exception() or done.result())]
        if troubles and kind is None:
            raise MachineError("\n".join(troubles))
        for trouble in troubles:
            click.echo(f"stormpool: {trouble}", err=True)

    def run(self, orders: Iterable[tuple[str, Order]]) -> Iterator[tuple[str, Done | MachineError]]:
        """Have every order carried out, and tell of each by its name as it is done.

        Orders are taken one at a time, as a lab gets free: what hands them out can stop when it likes. Raises
        what it raises.
        """
        taking, said = threading.Lock(), queue.Queue[Said]()
        waiting = iter(orders)

        def take() -> tuple[str, Order] | None:
            with taking:
                return None if self._over.is_set() else next(waiting, None)

        def work(worker: Worker) -> None:
            try:
                while (taken := take()) is not None:
                    said.put((taken[0], _carried_out(worker, taken[1])))
            except Exception as error:  # of who hands the orders out: raised to who waits
                said.put(error)
            finally:
                said.put(None)

        for worker in self._workers:
            threading.Thread(target=work, args=(worker,), name="worker", daemon=True).start()
        going = len(self._workers)
        while going:
            one = said.get()
            if one is None:
                going -= 1
            elif isinstance(one, Exception):
                raise one
            else:
                yield one


def _carried_out(worker: Worker, order: Order) -> Done | MachineError:
    try:
        return worker.run(order)
    except MachineError as error:
        return error
    except Exception as error:  # such as that no process can be had
        return MachineError(f"{type(error).__name__}: {error}")
