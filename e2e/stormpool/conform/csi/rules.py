"""Every rule for CSI plugins, in the order in which they are judged."""

from __future__ import annotations

from stormpool.conform.csi import (
    at_once,
    coming_back,
    crashes,
    files,
    leftovers,
    order,
    repeats,
    sanity,
    undoing,
)
from stormpool.conform.csi.bench import Bench
from stormpool.conform.rule import Rule

ALL: tuple[Rule[Bench], ...] = (
    *sanity.RULES,
    *files.RULES,
    *coming_back.RULES,
    *repeats.RULES,
    *undoing.RULES,
    *order.RULES,
    *at_once.RULES,
    *crashes.RULES,
    *leftovers.RULES,
)
