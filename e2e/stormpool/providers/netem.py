"""A shape in the words of `tc qdisc ... netem` (tc-netem(8)), for kernels that have it."""

from __future__ import annotations

from stormpool.links import Shape

UNLIMITED = "1tbit"  # with a rate, netem counts a delay from the packet before: that is what keeps the order


def words(shape: Shape) -> list[str]:
    """What netem is to do with every packet of one direction."""
    said = ["netem", "limit", "1000"]
    if shape.delay:
        said += ["delay", _time(shape.delay)]
        if shape.jitter:
            said.append(_time(shape.jitter))
    for name in ("loss", "duplicate", "reorder"):
        share = getattr(shape, name)
        if share:
            said += [name, f"{share * 100:g}%"]
    if shape.rate:
        said += ["rate", f"{shape.rate * 8}bit"]
    elif shape.jitter:
        said += ["rate", UNLIMITED]
    return said


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e6)}us"
