"""What a driver says of itself: its tasks' configuration, what it can do, its health."""

from __future__ import annotations

import time
from typing import Any

from stormpool.conform.external.asking import heard
from stormpool.conform.external.driver.bench import FIRST_WITHIN, DriverBench
from stormpool.conform.external.driver.task import PATIENCE
from stormpool.conform.external.identity import must_be_whole
from stormpool.conform.rule import Broken, Rule, rule
from stormpool.errors import TimedOut
from stormpool.goplugin.driver import Health


@rule(source="nomad taskrunner/task_runner.go initDriver; hclspecutils/dec.go decodeSpecBlock")
def what_tasks_can_be_told(bench: DriverBench) -> None:
    """The schema of a task's configuration says of each of its parts what it is, its type and name."""
    spec = bench.ask.task_spec()
    must_be_whole(spec, "a task's configuration")
    bench.ask.task_config(bench.task.filled((*bench.task.shell, "-c", "true")))


@rule(source="nomad client/allocrunner/taskrunner/task_runner.go initDriver: asked anew for each task")
def what_it_can_do(bench: DriverBench) -> str:
    """What it says it can do it says again after it was killed."""
    before = bench.ask.capabilities()
    bench.come_back()
    after = bench.ask.capabilities()
    if after != before:
        raise Broken(f"at first {before}, and then {after}")
    said = {"signals": before.signals, "exec": before.exec, "mounts": before.mounts}
    return f"isolation {before.isolation}; " + ", ".join(name for name, can in said.items() if can)


@rule(source="nomad client/client.go batchFirstFingerprintsTimeout: 50 s")
def its_health(bench: DriverBench) -> str:
    """It tells of its health within 50 s, and when it is not healthy, why that is."""
    began = time.monotonic()
    instance = bench.launch()
    try:
        instance.streams["Fingerprint"].first(FIRST_WITHIN)
    except TimedOut:
        raise Broken(f"nothing within {FIRST_WITHIN:g} s") from None
    found = bench.health(instance)
    if not isinstance(found.health, Health):
        raise Broken(f"its health is {found.health}, which agents take for {Health.UNDETECTED}")
    if found.health is not Health.HEALTHY and not found.why:
        raise Broken(f"it is {found.health}, and does not say why")
    return f"{found.health} after {time.monotonic() - began:.2f} s: {found.why or 'no more'}"


@rule(source="nomad client/pluginmanager/drivermanager/instance.go: reattached by an agent that was killed")
def its_health_again(bench: DriverBench) -> None:
    """An agent that was killed and comes back asks the same process anew, and is told of its health."""
    before = bench.health()
    stream: Any = bench.main.driven.fingerprint()
    said = heard(stream, PATIENCE)
    stream.stop()
    if not said:
        raise Broken(f"asked a second time it told nothing within {PATIENCE:g} s")
    if said[0].health is not before.health:
        raise Broken(f"at first {before.health}, and then {said[0].health}")


RULES: tuple[Rule[DriverBench], ...] = (what_tasks_can_be_told, what_it_can_do, its_health, its_health_again)
