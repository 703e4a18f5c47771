"""Many tasks: at once, and one after another."""

from __future__ import annotations

import time
from functools import partial

from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.life import must_have_ended
from stormpool.conform.external.driver.task import LASTING, PATIENCE
from stormpool.conform.rule import Broken, rule

AT_ONCE = 8
SHORT = 20
SPARE = 10  # threads or open files more that are no leak


@rule(source="nomad client/allocrunner: a goroutine a task, each with WaitTask and TaskStats under way")
def tasks_at_once(bench: DriverBench) -> str:
    """Tasks that are started at once all run, are waited for meanwhile, and each is told of as itself."""
    tasks = [bench.made(LASTING.replace("exit 7", f"exit {10 + number}")) for number in range(AT_ONCE)]
    began = time.monotonic()
    bench.at_once([task.up for task in tasks])
    took = time.monotonic() - began
    waiting = [bench.later(task.wait) for task in tasks]
    streams = [bench.main.driven.stats(task.id, 0.5) for task in tasks]
    bench.ask.info()
    bench.at_once([partial(bench.ask.stop, task.id, PATIENCE) for task in tasks])
    for number, each in enumerate(waiting):
        must_have_ended(each.result(), 10 + number)
    bench.at_once([task.destroy for task in tasks])
    for stream in streams:
        stream.stop()
    for task in tasks:
        task.must_be_gone("destroyed")
    return f"{AT_ONCE} were up in {took:.2f} s"


@rule(source="seed 004 of the project: executors that were left over; nomad issue 11958")
def one_after_another(bench: DriverBench) -> str:
    """Short tasks leave nothing: no processes, and in the driver no threads or open files that add up."""
    _live(bench)
    before = bench.look()
    began = time.monotonic()
    for _ in range(SHORT):
        _live(bench)
    took = time.monotonic() - began
    left = bench.processes_left()
    if left:
        raise Broken(f"after {SHORT} tasks there still runs: {', '.join(map(str, left))}")
    first, last = (look.process(bench.main.started.pid) for look in (before, bench.look()))
    if first is None or last is None:
        raise Broken("the driver ended")
    grown = {"threads": last.threads - first.threads, "open files": last.files - first.files}
    for what, more in grown.items():
        if more > SPARE:
            raise Broken(f"{more} {what} more in the driver after {SHORT} tasks")
    return f"{took / SHORT:.3f} s each"


def _live(bench: DriverBench) -> None:
    task = bench.made("exit 0")
    task.start()
    must_have_ended(task.wait(), 0)
    task.destroy()
    task.must_be_gone("destroyed")


RULES = (tasks_at_once, one_after_another)
