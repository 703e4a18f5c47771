"""A process that runs one story again and again, on the same lab as long as that is as good as new.

    python -m stormpool.workers.worker SCENARIO NOMAD PROVIDER OUT

Reads an `Order` a line from standard input; writes JSON lines to standard output: what a run has come to
(`what`), and a `Done` at its end. It ends, with its lab, when standard input does. Both are its own alone:
what a story prints goes to standard error, and it has nothing to read.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec

from stormpool.judge import GuaranteeBroken, NotJudged
from stormpool.lab import Lab
from stormpool.run import About
from stormpool.runner import Asked, keep_script, lab_up, written
from stormpool.script import Script, at_home, typed
from stormpool.store import RunDirectory
from stormpool.workers import story
from stormpool.workers.reuse import Reuse, Spent


class Order(msgspec.Struct, frozen=True):
    """A run to make."""

    seed: int
    script: Script | None = None  # what replaces the story's own lab and acts
    fresh: bool = False  # on a lab that was never used


class Done(msgspec.Struct, frozen=True):
    """A run that was made."""

    run: str  # its directory
    seconds: float  # of the run alone, without lab's bring-up and reset
    reset: float = -1.0  # seconds until its lab was as good as new; negative: it could not be
    spent: str = ""  # why its lab cannot be used again


class Speech:
    """What the worker says, a line each, to whoever started it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, said: object) -> None:
        """Say something, as JSON."""
        with open(self._descriptor, "wb", closefd=False) as out:
            out.write(msgspec.json.encode(said) + b"\n")

    def come_to(self, directory: RunDirectory | None, what: str) -> None:
        """Say what a run has come to."""
        self.say({"run": str(directory.path) if directory else "", "what": what})


class Bench:
    """The lab that is up, and the story that is run on it."""

    def __init__(self, asked: Asked, told: story.Story, speech: Speech) -> None:
        self._asked = asked
        self._story = told
        self._come_to = speech.come_to
        self._lab: Lab | None = None  # as which the lab stands
        self._about: About | None = None  # what is said of the lab
        self._reuse: Reuse | None = None
        self._standing = ExitStack()

    def carry_out(self, order: Order) -> Done:
        """Make one run, on the lab that is there where that will do."""
        script = at_home(typed(order.script), self._asked.lab) if order.script else None
        lab = script.lab if script else self._asked.lab
        if order.fresh or self._reuse is None or self._lab != lab:
            self.clear()
            self._stand(lab)
        began = time.monotonic()
        directory, fit = self._run(order.seed, script)
        took = time.monotonic() - began
        spent = self._reset() if fit else "the run did not finish"
        if spent:
            self.clear()
            return Done(str(directory.path), took, spent=spent)
        return Done(str(directory.path), took, time.monotonic() - began - took)

    def _reset(self) -> str:
        """Make the lab as good as new; why that cannot be had, if so."""
        try:
            if self._reuse is not None:
                self._reuse.reset()
        except Spent as spent:
            return str(spent)
        return ""

    def clear(self) -> None:
        """End the lab."""
        self._reuse = self._lab = None
        self._standing.close()

    def _stand(self, lab: Lab) -> None:
        asked = self._for(f"lab of {Path(self._story.name).name}", 0, Script(lab), self._asked.out / "labs")
        run = self._standing.enter_context(written(asked, self._come_to))
        cluster = self._standing.enter_context(lab_up(asked, run))
        self._lab, self._reuse, self._about = lab, Reuse(cluster), run.about

    def _run(self, seed: int, script: Script | None) -> tuple[RunDirectory, bool]:
        """Run the story; its directory, and whether it came to its end."""
        assert self._reuse is not None
        assert self._about is not None
        cluster = self._reuse.cluster
        asked = self._for(self._story.name, seed, script, self._asked.out)
        directory, fit = None, True
        try:
            with written(asked, self._come_to, cluster.recorder) as run:
                directory = run.directory
                run.about.versions, run.about.programs = self._about.versions, self._about.programs
                self._reuse.begin(run.turn)
                run.about.began_wall = cluster.recorder.zero_wall
                try:
                    self._story.act(cluster)
                finally:
                    self._reuse.end()
                    keep_script(cluster)
        except (GuaranteeBroken, NotJudged):
            pass
        except Exception:  # the run says what it was
            fit = False
        assert directory is not None
        return directory, fit

    def _for(self, scenario: str, seed: int, script: Script | None, out: Path) -> Asked:
        asked = self._asked
        return Asked(asked.lab, scenario, asked.nomad, seed, out, asked.provider, script)


class Orders:
    """What is to be done, read from a descriptor; when that ends in the middle of a run, the run ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._busy = threading.Event()
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def __iter__(self) -> Iterator[Order]:
        while line := self._lines.get():
            self._busy.set()
            yield msgspec.json.decode(line, type=Order)
            self._busy.clear()

    def _read(self) -> None:
        # Unbuffered: a thread that waits in a buffered read would not let the interpreter end.
        with open(self._descriptor, "rb", buffering=0, closefd=False) as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(b"")
        if self._busy.is_set():  # who gave the order is gone
            os.kill(os.getpid(), signal.SIGTERM)


def own_descriptors() -> tuple[int, int]:
    """Take standard input and output for the worker alone: those a story has are empty, and the log."""
    orders, speech = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return orders, speech


def _end_once(*_: object) -> None:
    """End in order; whoever asks again is not heard: the lab is being ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    raise KeyboardInterrupt


def main() -> None:
    """Carry out orders until there are no more."""
    scenario, nomad, provider, out = sys.argv[1:]
    orders, descriptor = own_descriptors()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end_once)
    told, speech = story.load(scenario), Speech(descriptor)
    bench = Bench(Asked(told.lab, told.name, nomad, out=Path(out), provider=provider), told, speech)
    try:
        for order in Orders(orders):
            speech.say(bench.carry_out(order))
    except KeyboardInterrupt:
        pass
    finally:
        bench.clear()


def _and_end() -> None:
    """End at once: threads of a run that was interrupted may still wait for a lab that is gone."""
    code = 1
    try:
        main()
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _and_end()
