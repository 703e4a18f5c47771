"""A device plugin that is killed: before, while and after it makes devices ready."""

from __future__ import annotations

import time

from stormpool.conform.external.device.bench import DeviceBench
from stormpool.conform.external.device.reserve import is_there, must_be_alike
from stormpool.conform.rule import Broken, rule

MANAGER = "nomad client/devicemanager/instance.go"
MOMENTS = (0.0, 0.3, 0.7)  # of the time that Reserve takes, when it is killed


@rule(source=f"{MANAGER} Reserve: starts a plugin that is gone, and asks it at once")
def reserved_before_all(bench: DeviceBench) -> None:
    """A device can be reserved before the plugin was asked what devices there are: by one that died, say."""
    ids = bench.some(1)
    usual = bench.ask.reserve(*ids)
    instance = bench.meet(bench.begin())
    instance.ask.configure(dict(bench.config))
    must_be_alike(usual, instance.ask.reserve(*ids), "by one that was asked for nothing else before")


@rule(
    source="nomad client/allocrunner/taskrunner/task_runner_hooks.go: a reservation is made once, tasks go on"
)
def what_was_reserved_stays(bench: DeviceBench) -> None:
    """What was made ready for a task is there when the plugin is killed, and when another is in its place."""
    made = bench.ask.reserve(*bench.some(1))
    paths = [each.host for each in made.mounts] + [each.host for each in made.devices]
    mounted = set(bench.look().mounts)
    bench.main.kill()
    _must_be_there(bench, paths, "killed")
    bench.start_again()
    bench.groups()
    _must_be_there(bench, paths, "killed and started again")
    gone = mounted - set(bench.look().mounts)
    if gone:
        raise Broken(f"not mounted any more: {', '.join(sorted(gone))}")


@rule(source=f"{MANAGER} fingerprint START: another at once; device_hook.go: of a new allocation, again")
def killed_while_reserving(bench: DeviceBench) -> str:
    """Killed while it makes a device ready, it does so once asked again, and leaves no more than usual."""
    ids = bench.some(1)
    began = time.monotonic()
    usual = bench.ask.reserve(*ids)
    took = time.monotonic() - began
    mounted = bench.look().mounts
    for moment in MOMENTS:
        meanwhile = bench.later(lambda: bench.main.driven.reserve(*ids))
        meanwhile_for(bench, moment * took)
        bench.main.kill()
        meanwhile.exception()
        bench.start_again()
        bench.groups()
        must_be_alike(usual, bench.ask.reserve(*ids), f"killed {moment * took:.3f} s into it")
    if sorted(bench.look().mounts) != sorted(mounted):
        raise Broken(f"mounted besides: {', '.join(sorted(set(bench.look().mounts) - set(mounted)))}")
    return f"it takes {took:.3f} s"


def meanwhile_for(bench: DeviceBench, seconds: float) -> None:
    """Let a call go on for so many seconds."""
    bench.main.streams["Fingerprint"].ended(seconds)


def _must_be_there(bench: DeviceBench, paths: list[str], when: str) -> None:
    gone = [path for path in paths if not is_there(bench, path)]
    if gone:
        raise Broken(f"{when}, {', '.join(gone)} is not there any more")


RULES = (reserved_before_all, what_was_reserved_stays, killed_while_reserving)
