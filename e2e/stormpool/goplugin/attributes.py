"""Values with units, as plugins tell them of what they find and count (nomad, plugins/shared/structs)."""

from __future__ import annotations

from typing import Any

import msgspec

from stormpool.goplugin.protos import attribute as pb
from stormpool.goplugin.protos import stats

# What an attribute may be counted in (plugins/shared/structs/units.go, UnitIndex): not in B, nor in Hz.
BYTES = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "kB", "KB", "MB", "GB", "TB", "PB", "EB")
UNITS = frozenset({*BYTES, *(f"{unit}/s" for unit in BYTES), "MHz", "GHz", "mW", "W", "kW", "MW", "GW"})


class Quantity(msgspec.Struct, frozen=True):
    """A number with its unit: of an attribute one of `UNITS` (MiB, GB/s, MHz, W), of a statistic any text."""

    value: int | float
    unit: str


Attribute = bool | int | float | str | Quantity


def attribute_to(value: Attribute) -> Any:
    """A value as a message. Raises `ValueError` for a unit that agents do not know: they drop all devices."""
    if isinstance(value, Quantity):
        if value.unit not in UNITS:
            raise ValueError(f"agents know no unit {value.unit!r}: take one of {', '.join(sorted(UNITS))}")
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


def wrong_with(said: Any) -> str:
    """What an agent finds wrong with a message of a value (plugins/shared/structs/attribute.go, Validate)."""
    field = said.WhichOneof("value")
    if said.unit and said.unit not in UNITS:
        return f"its unit is {said.unit!r}, which agents do not know"
    if said.unit and field in ("bool_val", "string_val"):
        return f"it has a unit, {said.unit}, and is no number"
    return "" if field else "it has no value"


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
