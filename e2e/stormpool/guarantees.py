"""The guarantees a scenario can name, one checker a file under `stormpool.checkers`."""

from __future__ import annotations

from stormpool.checkers.claims_are_linearizable import claims_are_linearizable
from stormpool.checkers.claims_match_reality import claims_match_reality
from stormpool.checkers.lifecycle_order import lifecycle_order
from stormpool.checkers.lowest_healthy_controller import lowest_healthy_controller
from stormpool.checkers.nothing_left_behind import nothing_left_behind
from stormpool.checkers.one_writer_a_volume import one_writer_a_volume
from stormpool.checkers.serialized_controller_calls import serialized_controller_calls
from stormpool.errors import Misuse
from stormpool.verdict import Guarantee

ALL: tuple[Guarantee, ...] = (
    serialized_controller_calls,
    lowest_healthy_controller,
    lifecycle_order,
    claims_match_reality,
    claims_are_linearizable,
    one_writer_a_volume,
    nothing_left_behind,
)


def by_name(name: str) -> Guarantee:
    """The guarantee of that name. Raises `Misuse` when there is none."""
    for each in ALL:
        if each.name == name:
            return each
    raise Misuse(f"no guarantee is named {name!r}", fix="name one of: " + ", ".join(one.name for one in ALL))


__all__ = [
    "ALL",
    "by_name",
    "claims_are_linearizable",
    "claims_match_reality",
    "lifecycle_order",
    "lowest_healthy_controller",
    "nothing_left_behind",
    "one_writer_a_volume",
    "serialized_controller_calls",
]
