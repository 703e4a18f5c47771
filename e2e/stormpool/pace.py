"""How fast a lab's nodes are, and what a scenario's seconds come to there.

A scenario's times are those of namespaces on this host. Emulated machines take several times as long for
everything: a fault planned two seconds after the begin would come before there is anything to break, a task
would be given up before it runs. What is marked as `Seconds` is so many times as long on them.
"""

from __future__ import annotations

import typing
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import structs

SECONDS = "seconds of a scenario"
Seconds = Annotated[float, SECONDS]
T = TypeVar("T")


def slowed(what: T, pace: float) -> T:
    """The same with every time in it so many times as long."""
    if pace == 1 or what is None:
        return what
    if isinstance(what, msgspec.Struct):
        marked = typing.get_type_hints(type(what), include_extras=True)
        changed = {
            name: value * pace if _is_seconds(marked[name]) else slowed(value, pace)
            for name in what.__struct_fields__
            if (value := getattr(what, name)) is not None
        }
        return structs.replace(what, **changed)
    if isinstance(what, tuple):
        return typing.cast(T, tuple(slowed(each, pace) for each in what))
    return what


def _is_seconds(hint: Any) -> bool:
    """Whether a field is a time; it may be one that is left out."""
    options = typing.get_args(hint) if typing.get_origin(hint) is not Annotated else ()
    return SECONDS in getattr(hint, "__metadata__", ()) or any(_is_seconds(each) for each in options)
