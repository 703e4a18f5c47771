"""Stopping a task: by its signal, and by force after a time."""

from __future__ import annotations

import time

from stormpool.conform.external.asking import Refused
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.life import must_have_ended
from stormpool.conform.external.driver.task import LASTING, PATIENCE, STUBBORN
from stormpool.conform.rule import Broken, Rule, rule

STOP = "nomad plugins/drivers/driver.go StopTask"
TIMEOUT = 1.0  # seconds that a task is given to end
SPARE = 3.0  # seconds more that a driver may take to kill it
SLOWLY = "trap 'sleep 1; echo bye; exit 7' TERM; echo up; while :; do sleep 0.1; done"
WITH_CHILDREN = "trap '' TERM; (while :; do sleep 0.1; done) & echo up; while :; do sleep 0.1; done"


def by(name: str, script: str) -> Rule[DriverBench]:
    """A task is stopped by a signal."""

    @rule(source=f"{STOP}: signal; a job's kill_signal", of=name or "the driver's own")
    def stopped_by(bench: DriverBench) -> str:
        """A task is sent the signal that it is to be stopped by, the driver's own when none is named."""
        task = bench.running(script)
        began = time.monotonic()
        ended = task.stopped(PATIENCE / 2, name)
        took = time.monotonic() - began
        task.must_be_over("StopTask was answered")
        if name:
            must_have_ended(ended, 7)
        task.destroy()
        task.must_be_gone("destroyed")
        return f"in {took:.2f} s: {ended.code}"

    return stopped_by


@rule(source=f"{STOP}: timeout; client/allocrunner/taskrunner/driver_handle.go Kill: kill_timeout")
def killed_after_its_time(bench: DriverBench) -> str:
    """A task that ignores the signal is killed once its time is over, not before and not much later."""
    task = bench.running(STUBBORN)
    began = time.monotonic()
    bench.ask.stop(task.id, TIMEOUT)
    took = time.monotonic() - began
    task.must_be_over("StopTask was answered")
    if not TIMEOUT * 0.9 <= took <= TIMEOUT + SPARE:
        raise Broken(f"StopTask with {TIMEOUT:g} s was answered after {took:.2f} s")
    task.destroy()
    task.must_be_gone("destroyed")
    return f"after {took:.2f} s of {TIMEOUT:g}"


@rule(source="nomad client/allocrunner/taskrunner/lifecycle.go, task_runner.go killTask: answered is dead")
def stopped_is_dead(bench: DriverBench) -> None:
    """A task that takes a second to end has ended when StopTask is answered, in its own way."""
    task = bench.running(SLOWLY)
    waiting = bench.later(task.wait)
    bench.ask.stop(task.id, PATIENCE)
    task.must_be_over("StopTask was answered")
    task.must_say("bye")
    must_have_ended(waiting.result(), 7)
    task.destroy()


@rule(source="nomad client/allocrunner/taskrunner/task_runner.go killTask: a stop may come late")
def stopped_when_it_has_ended(bench: DriverBench) -> str:
    """StopTask for a task that has ended by itself is answered at once, if by an error."""
    task = bench.made("exit 3")
    task.start()
    must_have_ended(task.wait(), 3)
    said, began = "OK", time.monotonic()
    try:
        bench.ask.stop(task.id, TIMEOUT)
    except Refused as refused:
        said = str(refused)
    if time.monotonic() - began > TIMEOUT + SPARE:
        raise Broken(f"StopTask was answered after {time.monotonic() - began:.1f} s: {said}")
    task.destroy()
    task.must_be_gone("destroyed")
    return said


@rule(
    source="nomad issues 24219, 11958; client/allocrunner: the allocation's memory and devices are given on"
)
def its_children_end_with_it(bench: DriverBench) -> None:
    """What a task started ends with it, also what ignores the signal: nothing is left of it."""
    task = bench.running(WITH_CHILDREN)
    task.stopped(TIMEOUT / 2)
    task.destroy()
    task.must_be_gone("stopped and destroyed")


RULES = (
    by("SIGTERM", LASTING),
    by("SIGUSR1", "trap 'exit 7' USR1; trap 'exit 3' TERM INT; echo up; while :; do sleep 0.1; done"),
    by("", LASTING),
    killed_after_its_time,
    stopped_is_dead,
    stopped_when_it_has_ended,
    its_children_end_with_it,
)
