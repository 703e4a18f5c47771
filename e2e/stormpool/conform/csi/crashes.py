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

TEXT = "written before the crash"
WRITE = "the file is written"
# Twice up and down: what a crash lost may show only once the volume is brought up again.
ONCE = (*life.UP[1:], WRITE, *life.DOWN[:-1])
LIFE = ("CreateVolume", *ONCE, *life.UP[1:], "the file is read", *life.DOWN)
MOMENTS = (0.0, 0.3, 0.7)  # of the time the call takes, when it is killed


def killed_between(step: str) -> Rule[Bench]:
    """The plugin is killed once a step of a volume's life is done."""

    @rule(
        source="Volume Lifecycle; Timeouts: a retried call continues where it left off (idempotency, MUST)",
        of=step,
    )
    def killed_after(bench: Bench) -> None:
        """The plugin is killed and started again after a call: the volume's life goes on, with its file."""
        bench.needs("NodePublishVolume", *([step] if step in life.ALL else []))
        volume, why = bench.volume(), ""
        for each in LIFE:
            _do(volume, each, why, bench)
            if each == step and not why:
                bench.plugin.come_back()
                why = f"killed after {step}"
        bench.must_be_bare()

    return killed_after


def _do(volume: Volume, step: str, why: str, bench: Bench) -> None:
    """One step of a life; `why`: the crash that came before, none yet when empty."""
    if step == WRITE:
        volume.write(TEXT)
        volume.must_hold(TEXT, why or "once it was published")
    elif step == "the file is read":
        volume.must_hold(TEXT, why or "once it was published again")
    elif life.done_by(step) in bench.up:
        if why:
            volume.persist(step, why)
        else:
            volume.go(step)


def killed_within(method: str) -> Rule[Bench]:
    """The plugin is killed while it works on a call."""

    @rule(source="Timeouts: a retried call continues where it left off (idempotency, MUST)", of=method)
    def killed_during(bench: Bench) -> None:
        """The plugin is killed while it works on a call, which is then repeated: all is as it should be."""
        bench.needs("NodePublishVolume", method)
        volume = bench.volume()
        volume.up()
        volume.write(TEXT)
        due = life.before(method, bench.up)
        volume.to(due)
        took, usual = _timed(volume, method)
        for moment in MOMENTS:
            volume.persist_to(due, f"killed during {method} and repeated")
            _cut_short(bench, volume, method, moment * took)
            if volume.mounts() != usual:
                raise Broken(f"mounted once it was repeated: {volume.mounts()}; at other times: {usual}")
        _must_still_hold(volume, method)
        volume.fall(f"killed during {method}")
        bench.must_be_bare()

    return killed_during


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


def _must_still_hold(volume: Volume, method: str) -> None:
    """Look for the file, unless the volume was deleted meanwhile."""
    volume.rise(f"killed during {method}")
    if life.done_by(method) != "CreateVolume":
        volume.must_hold(TEXT, f"killed during {method}")


STEPS = (*life.UP, WRITE, *life.DOWN)
RULES = (*map(killed_between, STEPS), *map(killed_within, life.ALL))
