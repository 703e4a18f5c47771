"""Tasks outlive the driver, and are found again by another process of it."""

from __future__ import annotations

import msgspec

from stormpool.conform.external.asking import Refused
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.life import must_have_ended
from stormpool.conform.external.driver.task import COUNTING, LASTING, PATIENCE, Task
from stormpool.conform.rule import Broken, Rule, rule

RUNNER = "nomad client/allocrunner/taskrunner/task_runner.go"
UNREADABLE = (b"", b"\xc1\xc1\xc1")  # as states of handles


def recovered(how: str) -> Rule[DriverBench]:
    """A task goes on while its driver is replaced."""

    @rule(source=f"{RUNNER} handleTaskExitResult, Restore; the handle alone says which task it is", of=how)
    def found_again(bench: DriverBench) -> None:
        """A task goes on when its driver ends: found again it is the same process, heard, told of truly."""
        task = bench.running(COUNTING)
        before = task.shell()
        end(bench, how)
        bench.start_again()
        task.recover()
        must_be(task, before.who)
        said = len(task.said())
        waiting = bench.later(task.wait)
        _must_go_on(task, said)
        bench.ask.stop(task.id, PATIENCE)
        must_have_ended(waiting.result(), 7)
        task.destroy()
        task.must_be_gone("destroyed")

    return found_again


@rule(source=f"{RUNNER} handleTaskExitResult: else one that has done its work is run again")
def ended_meanwhile(bench: DriverBench) -> None:
    """A task that ended while there was no driver is told of with the code that it ended with."""
    task = bench.running(LASTING)
    shell = task.shell()
    bench.main.kill()
    bench.signal(shell.pid, "TERM")
    task.must_be_over("it was sent SIGTERM", PATIENCE)
    bench.start_again()
    task.recover()
    must_have_ended(task.wait(), 7)
    task.destroy()
    task.must_be_gone("destroyed")


@rule(
    source="nomad drivermanager/instance.go: an agent that was killed comes back to the same driver process"
)
def found_though_known(bench: DriverBench) -> None:
    """A task that the driver knows may be asked to be found again: nothing changes for it."""
    task = bench.running(LASTING)
    before = task.shell()
    waiting = bench.later(task.wait)
    task.recover()
    must_be(task, before.who)
    bench.ask.stop(task.id, PATIENCE)
    must_have_ended(waiting.result(), 7)
    task.destroy()
    task.must_be_gone("destroyed")


@rule(source=f"{RUNNER} restoreHandle: an error has it started anew")
def what_is_gone(bench: DriverBench) -> str:
    """A task of which nothing runs any more cannot be found again, or is told not to have ended well."""
    task = bench.running(LASTING)
    bench.main.kill()
    _kill_all(bench, task)
    bench.start_again()
    try:
        task.recover()
        ended = task.wait()
    except Refused as refused:
        if refused.code in ("DEADLINE_EXCEEDED", "UNAVAILABLE"):
            raise
        task.gone = True
        return str(refused)
    if not (ended.code or ended.signal or ended.error):
        raise Broken("all of it was killed, and it is told to have ended well")
    task.destroy()
    return f"told as {ended}"


@rule(
    source=f"{RUNNER} restoreHandle: what an older or another version wrote; plugins/drivers/task_handle.go"
)
def what_cannot_be_read(bench: DriverBench) -> None:
    """A handle that is not the driver's own is refused by an error, or its task found; the driver lives."""
    for state in UNREADABLE:
        task = bench.running(LASTING)
        before = task.shell()
        bench.come_back()
        if _is_refused(bench, task, state):
            task.recover()
            _must_be_found(task, before.who)
        else:
            try:
                _must_be_found(task, before.who)
            except Broken as broken:
                raise Broken(
                    f"{state!r} for its state was answered OK, and the task not found: {broken}"
                ) from broken


def _is_refused(bench: DriverBench, task: Task, state: bytes) -> bool:
    """Whether a handle is refused that has another state, or would be: where the driver's own is no other."""
    assert task.handle is not None
    if state == task.handle.state:
        return True
    try:
        bench.ask.recover(msgspec.structs.replace(task.handle, state=state))
    except Refused as refused:
        if refused.code == "UNAVAILABLE" or not bench.main.lives:
            raise Broken(f"it ended: {refused}") from refused
        return True
    task.known_to = bench.main
    return False


def _must_be_found(task: Task, who: tuple[int, int]) -> None:
    """Raise `Broken` unless the driver has found the process that a task was: it ends it, and tells how."""
    must_be(task, who)
    must_have_ended(task.stopped(), 7)
    task.must_be_over("StopTask was answered")
    task.destroy()


def end(bench: DriverBench, how: str) -> None:
    """End the driver."""
    if how == "killed":
        bench.main.kill()
    else:
        bench.main.shut_down()


def must_be(task: Task, who: tuple[int, int]) -> None:
    """Raise `Broken` unless a task's command is the process that it was."""
    found = task.shell().who
    if found != who:
        raise Broken(f"it was process {who[0]}, and is {found[0]}")


def _must_go_on(task: Task, said: int) -> None:
    """Raise `Broken` unless a task is heard to count on."""
    count = task.said()[:said].count("line ")
    task.must_say(f"line {count + 3}\n")


def _kill_all(bench: DriverBench, task: Task) -> None:
    """SIGKILL to all of a task, and to what the driver runs for it."""
    pids = [str(each.pid) for each in task.processes()]
    bench.node.run(["kill", "-KILL", *pids], check=False)
    task.must_be_gone("killed")


RULES = (
    *map(recovered, ("killed", "told to end")),
    ended_meanwhile,
    found_though_known,
    what_is_gone,
    what_cannot_be_read,
)
