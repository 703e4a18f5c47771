"""Calls repeated because the reply was lost: the second is answered as the first, and changes nothing."""

from __future__ import annotations

from stormpool.conform.csi import life
from stormpool.conform.csi.bench import Bench
from stormpool.conform.csi.plugin import Refused
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken, Rule, rule


def repeated_at_once(method: str) -> Rule[Bench]:
    """A call is repeated."""

    @rule(source=f"{method}: idempotent (MUST)", of=method)
    def repeated(bench: Bench) -> None:
        """A call that is repeated is answered OK and with the same, and changes nothing."""
        _repeat(bench, method, crash=False)

    return repeated


def repeated_later(method: str) -> Rule[Bench]:
    """A call is repeated after a crash."""

    @rule(source=f"{method}: idempotent (MUST); Timeouts", of=method)
    def repeated_after_a_crash(bench: Bench) -> None:
        """The same when the plugin was killed and started again before the call is repeated."""
        _repeat(bench, method, crash=True)

    return repeated_after_a_crash


def _repeat(bench: Bench, method: str, *, crash: bool) -> None:
    bench.needs(method)
    volume = bench.volume()
    volume.to(life.before(method, bench.up))
    request = volume.request(method)
    first = volume.go(method)
    mounted = volume.mounts()
    if crash:
        bench.plugin.come_back()
    try:
        second = bench.plugin.call(method, request)
    except Refused as refused:
        raise Broken(f"repeated, {refused}") from refused
    if second != first:
        raise Broken(f"answered {_told(first)} at first, and then {_told(second)}")
    _must_be_mounted(volume, mounted)
    volume.fall(f"{method} was repeated")
    bench.must_be_bare()


def _must_be_mounted(volume: Volume, mounted: list[str]) -> None:
    if volume.mounts() != mounted:
        raise Broken(f"mounted after one call: {mounted}; after two: {volume.mounts()}")


def _told(answer: object) -> str:
    return " ".join(str(answer).split()) or "nothing"


RULES = (*map(repeated_at_once, life.ALL), *map(repeated_later, life.ALL))
