"""Every rule for device plugins, in the order in which they are judged."""

from __future__ import annotations

from stormpool.conform.external import beginning, configuring, ending, identity, talking
from stormpool.conform.external.device import crashes, fingerprint, reserve, stats
from stormpool.conform.external.device.bench import DeviceBench
from stormpool.conform.rule import Rule

ALL: tuple[Rule[DeviceBench], ...] = (
    *beginning.RULES,
    *identity.RULES,
    *configuring.RULES,
    *fingerprint.RULES,
    *reserve.RULES,
    *crashes.RULES,
    *stats.RULES,
    *talking.RULES,
    *ending.RULES,
    *fingerprint.LAST,
    *talking.LAST,
)
