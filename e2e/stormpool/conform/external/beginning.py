"""How a plugin begins: the line it prints, and that it serves nobody but an agent."""

from __future__ import annotations

import time
from typing import Any

from stormpool.conform.external.bench import Bench
from stormpool.conform.external.plugin import OnBench
from stormpool.conform.rule import Broken, Rule, rule
from stormpool.errors import TimedOut
from stormpool.goplugin.handshake import COOKIE, CORE_PROTOCOL, NOMAD_PROTOCOL, Handshake, NoHandshake
from stormpool.goplugin.process import KILLED_WITHIN, START_TIMEOUT
from stormpool.wait import wait_until

REFUSES_WITHIN = 10.0  # seconds for a plugin that is started by hand to end
LONGEST_EXTRA = 50  # characters of a sixth field that agents do not take for a certificate
CLIENT = "go-plugin client.go Start"


@rule(source=f"{CLIENT}: the first line of stdout, within StartTimeout (1 min)")
def the_first_line(bench: Bench[Any]) -> str:
    """The first line on standard output comes within a minute, and says the protocol and where it listens."""
    began = time.monotonic()
    said = _first_line(bench.begin())
    took = time.monotonic() - began
    try:
        line = Handshake.parse(said)
    except NoHandshake as error:
        raise Broken(f"the first line on standard output: {error}") from error
    if (line.core, line.app) != (CORE_PROTOCOL, NOMAD_PROTOCOL):
        raise Broken(f"it says protocols {line.core}|{line.app}, and agents want 1|2")
    if line.network not in ("unix", "tcp"):
        raise Broken(f"it listens on {line.network!r}, and agents know unix and tcp")
    if line.more and len(line.more[0]) > LONGEST_EXTRA:
        raise Broken("it sends a certificate (its sixth field), and Nomad's agents speak without TLS")
    return f"after {took:.2f} s: {said}"


def _first_line(started: OnBench) -> str:
    """What it printed first. Raises `Broken` when it ends or the time is up before."""

    def look() -> str:
        alive = started.process.alive()
        line, end, _ = started.stdout().partition("\n")
        if not end and not alive:
            raise Broken(
                f"it ended with {started.process.wait(KILLED_WITHIN)}: {started.said()[-300:].strip()!r}"
            )
        return line if end else ""

    try:
        return wait_until("it prints a line", look, timeout=START_TIMEOUT, every=0.01)
    except TimedOut:
        raise Broken(f"it printed no line within {START_TIMEOUT:g} s") from None


def by_hand(what: str, cookie: str) -> Rule[Bench[Any]]:
    """The plugin is started by somebody who is no agent."""

    @rule(source="go-plugin server.go Serve: magic cookie; nomad plugins/base Handshake", of=what)
    def not_by_hand(bench: Bench[Any]) -> None:
        """Without the agents' cookie in its environment it says what it is, and ends with no 0."""
        started = bench.begin({COOKIE: cookie})
        try:
            code = started.process.wait(REFUSES_WITHIN)
        except TimedOut:
            raise Broken(f"it runs on, and said {started.said()[:200].strip()!r}") from None
        if code == 0:
            raise Broken("it ended with 0")
        if not started.said().strip():
            raise Broken(f"it ended with {code} and said nothing")

    return not_by_hand


RULES: tuple[Rule[Any], ...] = (
    the_first_line,
    by_hand("no cookie", ""),
    by_hand("another cookie", "other"),
)
