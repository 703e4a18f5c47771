"""A driver that is killed between any two calls of a task's life, and while it works on one."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial

from stormpool.conform.external.asking import Refused
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.life import must_have_ended
from stormpool.conform.external.driver.recovery import RUNNER, must_be
from stormpool.conform.external.driver.task import LASTING, PATIENCE, Task
from stormpool.conform.rule import Broken, Rule, rule

MOMENTS = (0.0, 0.25, 0.5, 0.75)  # of the time that a call takes, when it is killed
RECOVERING = 0.02  # seconds, about
SLOWLY = "trap 'sleep 0.4; exit 7' TERM; echo up; while :; do sleep 0.1; done"
STEPS = ("StartTask", "RecoverTask", "SignalTask", "StopTask", "DestroyTask")


def killed_between(step: str) -> Rule[DriverBench]:
    """The driver is killed once a call of a task's life is answered."""

    @rule(source=f"{RUNNER} handleTaskExitResult: recovered while it runs; clearDriverHandle", of=step)
    def killed_after(bench: DriverBench) -> None:
        """The driver is killed after a call and started again: the task lives to its end, and no longer."""
        task = bench.running(LASTING)
        before = task.shell()
        for each in STEPS:
            _do(bench, task, each)
            if each == step:
                bench.come_back()
                if each in ("StartTask", "RecoverTask", "SignalTask"):
                    task.recover()
                    must_be(task, before.who)
        task.must_be_gone(f"killed after {step}, started again, and destroyed: of the task")

    return killed_after


def _do(bench: DriverBench, task: Task, step: str) -> None:
    """One step of a life; what has ended may be forgotten by a driver that was killed since."""
    if step == "RecoverTask":
        task.recover()
    elif step == "SignalTask" and bench.can.signals:
        bench.ask.signal(task.id, "SIGCONT")
    elif step == "StopTask":
        must_have_ended(task.stopped(), 7)
    elif step == "DestroyTask":
        with suppress(Refused):
            task.destroy()
        task.gone = True


def killed_once_waited_for() -> Rule[DriverBench]:
    """WaitTask was answered, of a task that ended by itself; agents do not find such again."""

    @rule(source=f"{RUNNER} clearDriverHandle: what the process that died would have done", of="WaitTask")
    def killed_after(bench: DriverBench) -> None:
        """The driver is killed after a call and started again: the task lives to its end, and no longer."""
        task = bench.made("exit 7")
        task.start()
        must_have_ended(task.wait(), 7)
        bench.come_back()
        _do(bench, task, "DestroyTask")
        task.must_be_gone("it ended, WaitTask was answered, the driver was killed and started again:")

    return killed_after


def killed_starting() -> Rule[DriverBench]:
    """StartTask is repeated with the same id, by a process that may know nothing of the first."""

    @rule(source=f"{RUNNER} runDriver: one that died is asked to start the same task again", of="StartTask")
    def killed_during(bench: DriverBench) -> str:
        """The driver is killed while it works on a call, which is repeated: the task runs once, and ends."""
        took = _time_to_start(bench)
        for moment in MOMENTS:
            _start_cut_short(bench, moment * took)
        return f"it takes {took:.3f} s"

    return killed_during


def killed_stopping() -> Rule[DriverBench]:
    """StopTask is repeated, once the task was found again."""

    @rule(source=f"{RUNNER} killTask, handleTaskExitResult: recovered, and stopped again", of="StopTask")
    def killed_during(bench: DriverBench) -> None:
        """The driver is killed while it works on a call, which is repeated: the task runs once, and ends."""
        task = bench.running(SLOWLY)
        stopped = bench.later(partial(bench.main.ask.stop, task.id, PATIENCE))
        _let(bench, 0.2)
        bench.main.kill()
        stopped.exception()
        bench.start_again()
        with suppress(Refused):  # it may have ended by now
            task.recover()
        bench.ask.stop(task.id, PATIENCE)
        task.must_be_over("StopTask was answered")
        task.destroy()
        task.must_be_gone("destroyed")

    return killed_during


def killed_recovering() -> Rule[DriverBench]:
    """RecoverTask is repeated with the same handle."""

    @rule(source=f"{RUNNER} Restore, handleTaskExitResult: again with the same handle", of="RecoverTask")
    def killed_during(bench: DriverBench) -> None:
        """The driver is killed while it works on a call, which is repeated: the task runs once, and ends."""
        task = bench.running(LASTING)
        before = task.shell()
        for moment in MOMENTS:
            bench.come_back()
            recovering = bench.later(task.recover)
            _let(bench, moment * RECOVERING)
            bench.main.kill()
            recovering.exception()
            bench.start_again()
            task.recover()
            must_be(task, before.who)
        must_have_ended(task.stopped(), 7)
        task.destroy()
        task.must_be_gone("destroyed")

    return killed_during


def _start_cut_short(bench: DriverBench, seconds: float) -> None:
    """Kill the driver so many seconds into StartTask, and go on as agents do."""
    task, when = bench.made(LASTING), f"killed {seconds:.3f} s into StartTask and started again"
    starting = bench.later(task.start)
    _let(bench, seconds)
    bench.main.kill()
    answered = starting.exception() is None
    bench.start_again()
    if answered:
        task.recover()
    else:
        task.start()
    task.must_say("up")
    if len(task.shells()) > 1:
        raise Broken(f"{when}, the task runs {len(task.shells())} times")
    task.destroy()
    task.must_be_gone(f"{when}, and destroyed")


def _time_to_start(bench: DriverBench) -> float:
    """How long StartTask takes, in seconds."""
    task = bench.made(LASTING)
    began = time.monotonic()
    task.start()
    took = time.monotonic() - began
    task.destroy()
    return took


def _let(bench: DriverBench, seconds: float) -> None:
    """Let a call go on for so many seconds."""
    bench.main.streams["Fingerprint"].ended(seconds)


RULES = (
    *map(killed_between, STEPS),
    killed_once_waited_for(),
    killed_starting(),
    killed_stopping(),
    killed_recovering(),
)
