"""A task's life: started, waited for, destroyed; and how it ended is told as it was."""

from __future__ import annotations

import time

from stormpool.conform.external.asking import Refused, asked
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import LASTING, PATIENCE
from stormpool.conform.rule import Broken, NotOffered, Rule, rule
from stormpool.goplugin.driver import Exit, task_to
from stormpool.goplugin.protos import driver, driver_rpc

SIGNALS = {"KILL": 9, "TERM": 15}
RUNNER = "nomad client/allocrunner/taskrunner/task_runner.go"
WAITERS = 3


@rule(source="nomad plugins/drivers/driver.go StartTask, WaitTask, DestroyTask")
def a_task(bench: DriverBench) -> None:
    """A task that does nothing is started, waited for and destroyed: else nothing more is judged of tasks."""
    bench.must_be_healthy()
    bench.try_one()


def exits(code: int) -> Rule[DriverBench]:
    """A task ends with a code."""

    @rule(source="nomad plugins/drivers/driver.go ExitResult; restart policies look at it", of=str(code))
    def the_exit_code(bench: DriverBench) -> str:
        """A task that ends with a code is told to have ended with it, and nothing of it is left."""
        began = time.monotonic()
        task = bench.made(f"exit {code}")
        task.start()
        must_have_ended(task.wait(), code)
        task.destroy()
        task.must_be_gone("destroyed")
        return f"in {time.monotonic() - began:.2f} s"

    return the_exit_code


def ends_by(name: str) -> Rule[DriverBench]:
    """A task is ended by a signal."""

    @rule(
        source="nomad plugins/drivers/driver.go ExitResult; drivers/shared/executor/executor.go",
        of=name,
    )
    def the_signal(bench: DriverBench) -> None:
        """A task that a signal ended is told to have ended by it: by signal or by code (128 more)."""
        task = bench.running("echo up; while :; do sleep 0.1; done")
        shell = task.shell()
        if shell.first and name != "KILL":
            raise NotOffered("tasks are the first of a pid namespace: no signal but KILL ends such")
        bench.signal(shell.pid, name)
        ended, number = task.wait(), SIGNALS[name]
        if ended.signal != number and ended.code != 128 + number:
            raise Broken(f"SIG{name} ended it, and it is told as {ended}")
        task.destroy()
        task.must_be_gone("destroyed")

    return the_signal


@rule(source="nomad plugins/drivers/driver.go WaitTask; agents wait anew after they were killed")
def waited_for_by_several(bench: DriverBench) -> None:
    """Several wait for one task: all are told how it ended, and so is who asks only then."""
    task = bench.running(LASTING)
    waiting = [bench.later(task.wait) for _ in range(WAITERS)]
    bench.signal(task.shell().pid, "TERM")
    for each in waiting:
        must_have_ended(each.result(), 7)
    must_have_ended(task.wait(), 7)
    task.destroy()
    task.must_be_gone("destroyed")


@rule(source=f"{RUNNER} Restore: asked anew by an agent that was killed before it had the answer")
def waited_for_once_it_was_stopped(bench: DriverBench) -> None:
    """How a task ended that was stopped is told to who asks only then, until it is destroyed."""
    task = bench.running(LASTING)
    must_have_ended(task.stopped(), 7)
    must_have_ended(task.wait(), 7)
    task.destroy()
    task.must_be_gone("destroyed")


@rule(
    source=f"{RUNNER} restoreHandle: a handle without a config cannot be recovered; plugins/drivers/client.go"
)
def what_finds_it_again(bench: DriverBench) -> None:
    """A started task is answered with a handle that has the task's own configuration in it."""
    task = bench.made(LASTING)
    with asked("StartTask"):
        stub = driver_rpc.DriverStub(bench.main.plugin.channel)
        answer = stub.StartTask(driver.StartTaskRequest(task=task_to(task.spec)), timeout=PATIENCE)
    if not answer.HasField("handle"):
        raise Broken(f"StartTask was answered OK, without a handle: {' '.join(str(answer).split())[:200]}")
    if answer.handle.config.id != task.id:
        raise Broken(f"the handle is of task {answer.handle.config.id!r}, and {task.id!r} was started")
    task.must_say("up")
    task.destroy()


@rule(source="nomad plugins/drivers/driver.go StartTask; drivers/rawexec: already started")
def started_twice(bench: DriverBench) -> str:
    """A task that runs and is started once more is refused, or the one that runs is meant: it runs once."""
    task = bench.running(LASTING)
    try:
        task.start()
        said = "answered OK"
    except Refused as refused:
        said = str(refused)
    task.shell()
    must_have_ended(task.stopped(), 7)
    task.destroy()
    task.must_be_gone("destroyed")
    return said


@rule(source="nomad plugins/drivers/driver.go DestroyTask: force")
def destroyed_while_it_runs(bench: DriverBench) -> None:
    """A task that runs is not destroyed unless it is forced; then it is ended, and nothing of it is left."""
    task = bench.running(LASTING)
    try:
        bench.ask.destroy(task.id)
    except Refused:
        task.shell()
    else:
        raise Broken("DestroyTask without force was answered OK while it ran")
    task.destroy()
    task.must_be_gone("destroyed by force")


@rule(source=f"{RUNNER} clearDriverHandle: after each end")
def forgotten(bench: DriverBench) -> None:
    """Once destroyed a task is not known any more: who waits for it is told so by an error."""
    task = bench.made("exit 0")
    task.start()
    task.wait()
    task.destroy()
    try:
        ended = task.wait()
    except Refused as refused:
        if refused.code == "DEADLINE_EXCEEDED":
            raise
    else:
        raise Broken(f"it was destroyed, and WaitTask is answered {ended}")


def must_have_ended(ended: Exit, code: int) -> None:
    """Raise `Broken` unless a task is told to have ended with a code; why it failed may be said as well."""
    if (ended.code, ended.signal) != (code, 0) or (ended.error and code == 0):
        raise Broken(f"it ended with {code}, and is told to have ended with {ended}")


RULES = (
    a_task,
    *map(exits, (0, 7, 255)),
    *map(ends_by, SIGNALS),
    what_finds_it_again,
    waited_for_by_several,
    waited_for_once_it_was_stopped,
    started_twice,
    destroyed_while_it_runs,
    forgotten,
)
