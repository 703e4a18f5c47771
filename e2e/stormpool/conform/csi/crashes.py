"""Crashes: the plugin is killed between any two calls of a volume's life, and in the middle of each."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import grpc

from stormpool.conform.csi import life
from stormpool.conform.csi.bench import Bench
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken, Rule, rule
from stormpool.errors import TimedOut
from stormpool.wait import wait_until

TEXT = "written before the crash"
WRITE, READ = "the file is written", "the file is read"
# Twice up and down: what a crash lost may show only once the volume is brought up again.
ONCE = (*life.UP[1:], WRITE, READ, *life.DOWN[:-1])
LIFE = ("CreateVolume", *ONCE, *life.UP[1:], READ, *life.DOWN)
# Moments at which a call is killed: at least so many, at most so many, and no more after so many seconds.
LEAST, MOST, ENOUGH = 3, 16, 2.0


def killed_between(step: str) -> Rule[Bench]:
    """The plugin is killed once a step of a volume's life is done."""

    @rule(
        source="Volume Lifecycle; Timeouts: a retried call continues where it left off (idempotency, MUST)",
        of=step,
    )
    def killed_after(bench: Bench) -> None:
        """The plugin is killed and started again after a call: the volume's life goes on, with its file."""
        bench.needs("NodePublishVolume", *([step] if step in life.ALL else []))
        bench.needs_a_life()  # what never worked was not broken by a crash
        if step == WRITE:
            bench.needs_files()
        volume, why = bench.volume(), ""
        for each in LIFE:
            _do(volume, each, why, bench)
            if each == step and not why:
                bench.plugin.come_back()
                why = f"killed after {step}"
        _must_be_gone(bench, volume, why)
        bench.must_be_bare()

    return killed_after


def _must_be_gone(bench: Bench, volume: Volume, why: str) -> None:
    """Raise `Broken` where a volume that was deleted is listed, or stands in the way of one of its name."""
    try:
        wait_until(
            "it is not listed",
            bench.listed,
            lambda listed: not listed[volume.id],
            timeout=bench.asked.patience,
        )
    except TimedOut:
        raise Broken(f"{why}, and the volume that was deleted is listed") from None
    volume.persist("CreateVolume", why)
    volume.persist("DeleteVolume", why)


def _do(volume: Volume, step: str, why: str, bench: Bench) -> None:
    """One step of a life; `why`: the crash that came before, none yet when empty."""
    if step in (WRITE, READ):
        if not bench.keeps_files:
            return
        if step == WRITE:
            volume.write(TEXT)
        else:
            volume.must_hold(TEXT, why or "nothing was killed")
    elif life.done_by(step) in bench.up:
        if why:
            volume.persist(step, why)
        else:
            volume.go(step)


def killed_within(method: str) -> Rule[Bench]:
    """The plugin is killed while it works on a call."""

    @rule(source="Timeouts: a retried call continues where it left off (idempotency, MUST)", of=method)
    def killed_during(bench: Bench) -> str:
        """The plugin is killed while it works on a call, which is then repeated: all is as it should be."""
        bench.needs("NodePublishVolume", method)
        volume = bench.volume()
        volume.up()
        if bench.keeps_files:
            volume.write(TEXT)
        due = life.before(method, bench.up)
        volume.to(due)
        took, usual = _timed(volume, method)
        began, times = time.monotonic(), 0
        while times < LEAST or (times < MOST and time.monotonic() - began < ENOUGH):
            volume.persist_to(due, f"killed during {method} and repeated")
            _cut_short(bench, volume, method, fraction(times) * took)
            times += 1
            if volume.mounts() != usual:
                raise Broken(f"mounted once it was repeated: {volume.mounts()}; at other times: {usual}")
        volume.rise(f"killed during {method}")
        if bench.keeps_files and life.done_by(method) != "CreateVolume":  # it was deleted meanwhile, else
            volume.must_hold(TEXT, f"killed during {method}")
        volume.fall(f"killed during {method}")
        bench.must_be_bare()
        return f"killed at {times} moments of the {took * 1000:.0f} ms it takes"

    return killed_during


def fraction(number: int) -> float:
    """The n-th of fractions that fill the span from 0 to 1 ever more evenly: 0, 1/2, 1/4, 3/4, 1/8 …"""
    bits = f"{number:b}"
    return int(bits[::-1], 2) / (1 << len(bits))


def _timed(volume: Volume, method: str) -> tuple[float, list[str]]:
    """How long a call takes, in seconds, and what it leaves mounted at the volume's paths."""
    began = time.monotonic()
    volume.go(method)
    return time.monotonic() - began, volume.mounts()


def _cut_short(bench: Bench, volume: Volume, method: str, moment: float) -> None:
    """Send a call, kill the plugin a moment later, start it again, and repeat the call until it is OK."""
    sent: Any = bench.plugin.send(method, volume.request(method))
    with suppress(grpc.FutureTimeoutError, grpc.RpcError):
        sent.result(moment)
    bench.plugin.come_back()
    volume.persist(method, f"killed {moment:.3f} s into {method}")


STEPS = (*life.UP, WRITE, *life.DOWN)
RULES = (*map(killed_between, STEPS), *map(killed_within, life.ALL))
