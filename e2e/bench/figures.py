"""How every benchmark tells its figures: one JSON object, or a line a figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median


def quantile(values: list[float], share: float) -> float:
    """The value below which that share of them is."""
    return sorted(values)[int(len(values) * share)]


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """The median of some values, the least and the most of them, as figures."""
    return {f"{name}_median": median(values), f"{name}_least": min(values), f"{name}_most": max(values)}


def show(figures: Mapping[str, object], *, as_json: bool) -> None:
    """Print figures."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:{width}}  {value:.3f}" if isinstance(value, float) else f"{name:{width}}  {value}")
