"""How a plugin ends: told to, by signals, and killed."""

from __future__ import annotations

import signal
import time
from typing import Any

from stormpool.conform.external.bench import GONE_WITHIN, LOOK_EVERY, Bench
from stormpool.conform.external.look import told
from stormpool.conform.rule import Broken, Rule, rule
from stormpool.errors import TimedOut
from stormpool.goplugin.process import GRACE
from stormpool.wait import wait_until

KILL = "go-plugin client.go Kill"
TERM_WITHIN = 10.0  # seconds; who stops a node gives more
OUTLIVES = 0.5  # seconds that a plugin lives on after a signal that is not for it


@rule(source=f"{KILL}: GRPCController/Shutdown, SIGKILL after 2 s")
def it_ends_when_told_to(bench: Bench[Any]) -> str:
    """Told to shut down while its streams are listened to, it ends within 2 s, with 0."""
    instance = bench.launch()
    began = time.monotonic()
    code = instance.shut_down()
    if code == -signal.SIGKILL:
        raise Broken(f"it still ran after {GRACE:g} s, and was killed")
    if code != 0:
        raise Broken(f"it ended with {code}: {instance.plugin.said[-200:].strip()!r}")
    return f"in {time.monotonic() - began:.2f} s"


@rule(source="go-plugin server.go Serve: the listener's file is removed")
def it_takes_its_files_along(bench: Bench[Any]) -> None:
    """Once it has ended as it was told to, no file of it is left where temporary files go."""
    bench.main.ask.info()
    before = set(bench.look().temporary)
    instance = bench.launch()
    if instance.shut_down() == -signal.SIGKILL:
        raise Broken("it did not end when told to, and was killed")
    left = set(bench.look().temporary) - before
    if left:
        raise Broken(f"left in TMPDIR: {', '.join(sorted(left))}")


@rule(source="signal(7): no handler of go-plugin's (server.go Serve) is for SIGTERM")
def it_ends_by_sigterm(bench: Bench[Any]) -> None:
    """SIGTERM ends it within 10 s, its streams listened to."""
    if bench.launch().signalled(signal.SIGTERM, TERM_WITHIN) is None:
        raise Broken(f"it still ran after {TERM_WITHIN:g} s")


@rule(source="go-plugin server.go Serve: interrupts are eaten, they are the agent's")
def an_interrupt_is_not_for_it(bench: Bench[Any]) -> None:
    """A Ctrl-C at the agent's terminal reaches the plugin as well, and does not end it: the agent does."""
    instance = bench.launch()
    code = instance.signalled(signal.SIGINT, OUTLIVES)
    if code is not None:
        raise Broken(f"it ended with {code}")
    instance.ask.info()


@rule(source="nomad devicemanager/instance.go fingerprint START: another at once, with the same TMPDIR")
def it_can_be_killed(bench: Bench[Any]) -> str:
    """Killed, it leaves no process behind, and nothing that keeps another from serving in its place."""
    bench.main.ask.info()
    bench.main.kill()
    try:
        wait_until(
            "nothing of it runs",
            lambda: _orphans(bench),
            lambda left: not left,
            timeout=GONE_WITHIN,
            every=LOOK_EVERY,
        )
    except TimedOut:
        raise Broken(f"still running once it was killed: {told(_orphans(bench))}") from None
    began = time.monotonic()
    bench.start_again()
    bench.ask.info()
    return f"another served after {time.monotonic() - began:.2f} s"


@rule(source="go-plugin client.go Start: its end is only seen once stdout and stderr are at their ends")
def its_outputs_are_its_own(bench: Bench[Any]) -> None:
    """What it started for tasks has not its standard output or error: an agent would not see it die."""
    bench.put_to_use()
    outputs = bench.main.started.outputs()
    bench.come_back()

    def holding() -> list[str]:
        return [str(each) for each in bench.look().processes if set(outputs) & set(each.open)]

    try:
        wait_until("nobody has its outputs", holding, lambda left: not left, timeout=GRACE, every=LOOK_EVERY)
    except TimedOut:
        raise Broken(f"its outputs are held open by {', '.join(holding())}") from None


def _orphans(bench: Bench[Any]) -> Any:
    """What runs once the main process is killed, but for what belongs to tasks."""
    return [each for each in bench.processes_left() if not each.alloc]


RULES: tuple[Rule[Any], ...] = (
    it_ends_when_told_to,
    it_takes_its_files_along,
    it_ends_by_sigterm,
    an_interrupt_is_not_for_it,
    it_can_be_killed,
    its_outputs_are_its_own,
)
