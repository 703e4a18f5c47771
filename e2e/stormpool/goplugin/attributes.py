"""Values with units, as plugins tell them of what they find and count (nomad, plugins/shared/structs)."""

from __future__ import annotations

from typing import Any

import msgspec

from stormpool.goplugin.protos import attribute as pb
from stormpool.goplugin.protos import stats


class Quantity(msgspec.Struct, frozen=True):
    """A number with its unit, as Nomad knows it: B, MiB, Hz, W, ... (plugins/shared/structs/units.go)."""

    value: int | float
    unit: str


Attribute = bool | int | float | str | Quantity


def attribute_to(value: Attribute) -> Any:
    """A value as a message."""
    if isinstance(value, Quantity):
        made = attribute_to(value.value)
        made.unit = value.unit
        return made
    for kind, field in ((bool, "bool_val"), (int, "int_val"), (float, "float_val")):
        if isinstance(value, kind):
            return pb.Attribute(**{field: value})
    return pb.Attribute(string_val=value)


def attribute_of(said: Any) -> Attribute:
    """A value out of a message; empty text where none is set."""
    field = said.WhichOneof("value")
    value: Any = getattr(said, field) if field else ""
    return Quantity(value, said.unit) if said.unit else value


def statistic_to(value: Attribute) -> Any:
    """A value that was counted, as a message."""
    if isinstance(value, Quantity):
        made = statistic_to(value.value)
        made.unit = value.unit
        return made
    made = stats.StatValue()
    for kind, field in ((bool, "bool_val"), (int, "int_numerator_val"), (float, "float_numerator_val")):
        if isinstance(value, kind):
            getattr(made, field).value = value
            return made
    made.string_val.value = value
    return made


def statistic_of(said: Any) -> Attribute:
    """A value that was counted, out of a message; empty text where none is set."""
    for field in ("bool_val", "int_numerator_val", "float_numerator_val", "string_val"):
        if said.HasField(field):
            value = getattr(said, field).value
            return Quantity(value, said.unit) if said.unit and not isinstance(value, str) else value
    return ""
