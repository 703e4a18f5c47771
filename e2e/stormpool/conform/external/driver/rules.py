"""Every rule for task drivers, in the order in which they are judged."""

from __future__ import annotations

from stormpool.conform.external import beginning, configuring, ending, identity, talking
from stormpool.conform.external.driver import (
    beside,
    crashes,
    failing,
    given,
    life,
    many,
    offers,
    recovery,
    stopping,
)
from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.rule import Rule

ALL: tuple[Rule[DriverBench], ...] = (
    *beginning.RULES,
    *identity.RULES,
    *configuring.RULES,
    *offers.RULES,
    *life.RULES,
    *given.RULES,
    *stopping.RULES,
    *beside.RULES,
    *failing.RULES,
    *recovery.RULES,
    *crashes.RULES,
    *many.RULES,
    *talking.RULES,
    *ending.RULES,
    *talking.LAST,
)
