"""What goes on beside a task that runs: signals, commands, questions, statistics."""

from __future__ import annotations

import time
from typing import Any

from stormpool.conform.external.asking import Refused, asked, heard
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import LASTING, PATIENCE, Task
from stormpool.conform.rule import Broken, NotOffered, rule
from stormpool.goplugin.driver import State, state_of
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.protos import driver, driver_rpc

NOT_IMPLEMENTED = "stats not implemented"  # nomad, client/structs, DriverStatsNotImplemented
EVERY = 0.5  # seconds between two messages
MESSAGES = 3
HANDLE = "nomad client/allocrunner/taskrunner/driver_handle.go"
UTILS = "nomad plugins/drivers/utils.go"


@rule(source=f"{HANDLE} Signal; Capabilities.SendSignals")
def a_signal(bench: DriverBench) -> None:
    """A task gets the signals that it is sent by their names, and runs on."""
    if not bench.can.signals:
        raise NotOffered("the driver says that it sends no signals")
    task = bench.running("trap 'echo got it' USR1; echo up; while :; do sleep 0.1; done")
    bench.ask.signal(task.id, "SIGUSR1")
    task.must_say("got it")
    task.shell()
    task.destroy()


@rule(source=f"{HANDLE} Signal; plugins/drivers/driver.go SignalTask")
def no_such_signal(bench: DriverBench) -> str:
    """A signal that there is not is refused, or another sent in its place; the driver lives on."""
    if not bench.can.signals:
        raise NotOffered("the driver says that it sends no signals")
    task = bench.running(LASTING)
    said = "OK"
    try:
        bench.ask.signal(task.id, "SIGNOSUCH")
    except Refused as refused:
        said = str(refused)
    bench.ask.info()
    task.destroy()
    return said


@rule(source=f"{HANDLE} Exec: script checks, change_mode script; Capabilities.Exec")
def a_command(bench: DriverBench) -> None:
    """A command beside a task is told by its code and both of its outputs; one that fails is no error."""
    if not bench.can.exec:
        raise NotOffered("the driver says that it runs no commands")
    task = bench.running(LASTING)
    done = bench.ask.exec(task.id, [*bench.task.shell, "-c", "echo out; echo err >&2; exit 5"])
    said = (done.stdout.strip(), done.stderr.strip(), done.exit.code)
    if b"out" not in said[0] or said[2] != 5:
        raise Broken(f"it said out, err, and ended with 5; told is {said}")
    if b"err" not in said[1] + said[0]:
        raise Broken(f"what it said on standard error is lost: {said}")
    task.shell()
    task.destroy()


@rule(source=f"{UTILS} taskStatusFromProto, exitResultFromProto: all is read unseen; driver.go InspectTask")
def what_is_known(bench: DriverBench) -> None:
    """Of a task that runs, and of one that has ended, its id, state, times and end are said."""
    task = bench.running(LASTING)
    running = _known(bench, task, State.RUNNING)
    if running.started_at.ToNanoseconds() <= 0:
        raise Broken("it runs, and it is not said since when")
    task.stopped()
    ended = _known(bench, task, State.EXITED)
    if ended.completed_at.ToNanoseconds() < running.started_at.ToNanoseconds():
        raise Broken("it has ended, and not said to have after it was started")
    if ended.result.exit_code != 7:
        raise Broken(f"it ended with 7, and InspectTask says {ended.result.exit_code}")
    task.destroy()


def _known(bench: DriverBench, task: Task, state: State) -> Any:
    """What InspectTask says. Raises `Broken` where it says something else, or lacks what agents read."""
    with asked("InspectTask"):
        stub = driver_rpc.DriverStub(bench.main.plugin.channel)
        said = stub.InspectTask(driver.InspectTaskRequest(task_id=task.id), timeout=PATIENCE).task
    lacks = [name for name in ("started_at", "completed_at", "result") if not said.HasField(name)]
    if lacks:
        raise Broken(f"of a task that is {state} it is not said: {', '.join(lacks)}")
    told = state_of(said.state)
    if said.id != task.id or told != state:
        raise Broken(f"of task {task.id} ({state}) it is said: {said.id} ({told})")
    return said


@rule(source="nomad plugins/drivers/driver.go TaskStats; client/allocrunner/taskrunner/stats_hook.go")
def what_it_uses(bench: DriverBench) -> str:
    """What a task uses is told as often as asked for, or it is said that no statistics are implemented."""
    task = bench.running(LASTING)
    request = driver.TaskStatsRequest(task_id=task.id)
    request.collection_interval.FromNanoseconds(int(EVERY * 1e9))
    stub = driver_rpc.DriverStub(bench.main.plugin.channel)
    stream = Listening(stub.TaskStats(request), lambda said: said.stats)
    began = time.monotonic()
    said = heard(stream, PATIENCE, MESSAGES)
    took = time.monotonic() - began
    if stream.error is not None and NOT_IMPLEMENTED in str(stream.error.details()):
        raise NotOffered("it says that statistics are not implemented")
    stream.stop()
    if len(said) < MESSAGES or took < (MESSAGES - 1) * EVERY / 3:
        raise Broken(
            f"{len(said)} messages in {took:.1f} s, one every {EVERY:g} s was asked for: {stream.error}"
        )
    if not all(each.HasField("timestamp") and each.HasField("agg_resource_usage") for each in said):
        raise Broken("statistics without a time, or without what is used in all: agents read both unseen")
    task.destroy()
    return f"every {took / (MESSAGES - 1):.2f} s"


@rule(source="nomad client/allocrunner/taskrunner/stats_hook.go")
def statistics_end_with_it(bench: DriverBench) -> None:
    """The stream of what a task uses ends once it is destroyed."""
    task = bench.running(LASTING)
    stream = bench.main.driven.stats(task.id, EVERY)
    heard(stream, EVERY * 4)
    task.destroy()
    if not stream.ended(PATIENCE):
        stream.stop()
        raise Broken(f"{PATIENCE:g} s after it was destroyed it still goes on")


RULES = (a_signal, no_such_signal, a_command, what_is_known, what_it_uses, statistics_end_with_it)
