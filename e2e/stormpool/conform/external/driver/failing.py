"""Starts that fail leave nothing, and calls for tasks that nobody knows are answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from stormpool.conform.external.asking import Refused, heard
from stormpool.conform.external.bench import LOOK_EVERY
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import LASTING, PATIENCE, Task
from stormpool.conform.rule import Broken, NotOffered, Rule, rule
from stormpool.errors import TimedOut
from stormpool.goplugin.device import Mount
from stormpool.wait import wait_until

RUNNER = "nomad client/allocrunner/taskrunner/task_runner.go"
ENDS_WITHIN = 3.0  # seconds for a command that cannot be run
NOBODY = "00000000-0000-0000-0000-000000000000/task/00000000"
NOT_FOUND = "not found"  # nomad, plugins/drivers/errors.go, ErrTaskNotFound
WRONG: dict[str, dict[str, Any]] = {
    "no such command": {"command": ("/no/such/command", "x")},
    "no configuration": {"config": b"\xc1"},
    "no mount": {"mounts": (Mount("/conform", "/no/such/directory"),)},
}


def fails(what: str) -> Rule[DriverBench]:
    """A task cannot be started."""

    @rule(
        source=f"nomad issue 11958; {RUNNER} runDriver; plugins/drivers/client.go StartTask: errors only",
        of=what,
    )
    def a_start_that_fails(bench: DriverBench) -> str:
        """A task that cannot be started is refused, or ends at once; no process or mount is left."""
        if what == "no mount" and not bench.can.mounts:
            raise NotOffered("the driver says that its tasks can have no mounts")
        task = bench.made(LASTING, **WRONG[what])
        try:
            task.start()
        except Refused as refused:
            said = str(refused)
        else:
            said = _must_have_failed(task)
            if what == "no configuration":
                raise Broken(f"handed a configuration that is none, {said}")
            task.destroy()
        task.must_be_gone("it could not be started, and")
        if bench.mounts_left():
            raise Broken(f"it could not be started, and left mounted {', '.join(bench.mounts_left())}")
        _must_start_another(bench)
        return said

    return a_start_that_fails


def _must_have_failed(task: Task) -> str:
    """How a task has ended that cannot do what it was to. Raises `Broken` when it runs, or ended well."""
    with suppress(TimedOut):
        wait_until("it has ended", lambda: not task.shells(), timeout=ENDS_WITHIN, every=LOOK_EVERY)
    if task.shells():
        raise Broken("it was started, and runs")
    ended = task.wait()
    if not (ended.code or ended.signal or ended.error):
        raise Broken("it was started, and is told to have ended well")
    return f"it was started, and ended with {ended.code or ended.error}"


def _must_start_another(bench: DriverBench) -> None:
    """A start that failed keeps none from starting."""
    task = bench.made("exit 0")
    task.start()
    task.wait()
    task.destroy()


ASK: dict[str, Callable[[DriverBench], Any]] = {
    "WaitTask": lambda bench: bench.ask.wait(NOBODY, PATIENCE),
    "InspectTask": lambda bench: bench.ask.inspect(NOBODY),
    "SignalTask": lambda bench: bench.ask.signal(NOBODY, "SIGTERM"),
}


@rule(source=f"{RUNNER} killTask: an error is tried again, up to 345 s, whatever it says")
def an_unknown_task_is_stopped(bench: DriverBench) -> None:
    """StopTask for a task that it does not know is answered OK: there is nothing to stop."""
    bench.ask.stop(NOBODY, 1.0)


@rule(source=f"{RUNNER} restoreHandle: destroyed though it could not be recovered")
def an_unknown_task_is_destroyed(bench: DriverBench) -> None:
    """DestroyTask for a task that it does not know is answered OK, or that it is not found."""
    try:
        bench.ask.destroy(NOBODY, force=True)
    except Refused as refused:
        if NOT_FOUND not in refused.details:
            raise


def look_unknown() -> Rule[DriverBench]:
    """TaskStats, which is a stream."""

    @rule(source="nomad client/allocrunner/taskrunner/stats_hook.go callStatsWithRetry", of="TaskStats")
    def an_unknown_task(bench: DriverBench) -> None:
        """A call for a task that it does not know is answered by an error, at once."""
        stream = bench.main.driven.stats(NOBODY, 0.5)
        said = heard(stream, PATIENCE / 2)
        over, error = stream.over, stream.error
        stream.stop()
        if said or not over or error is None:
            raise Broken(f"what it uses is told: {said or error or 'the stream ends with OK'}")

    return an_unknown_task


def unknown(method: str) -> Rule[DriverBench]:
    """A call for a task that nobody knows."""

    @rule(source="nomad plugins/drivers/errors.go ErrTaskNotFound", of=method)
    def an_unknown_task(bench: DriverBench) -> None:
        """A call for a task that it does not know is answered by an error, at once."""
        try:
            said = ASK[method](bench)
        except Refused as refused:
            if refused.code in ("DEADLINE_EXCEEDED", "UNAVAILABLE"):
                raise
        else:
            raise Broken(f"{method} was answered OK: {said}")

    return an_unknown_task


RULES = (
    *map(fails, WRONG),
    an_unknown_task_is_stopped,
    an_unknown_task_is_destroyed,
    *map(unknown, ("WaitTask", "InspectTask", "SignalTask")),
    look_unknown(),
)
