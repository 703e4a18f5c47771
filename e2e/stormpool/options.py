"""Options that several commands have."""

from __future__ import annotations

import re
from pathlib import Path

import click

from stormpool.runner import DEFAULT_NOMAD, PROVIDERS

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a run, and nothing else.")
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are kept.",
)
PARALLEL = click.option(
    "--parallel", type=click.IntRange(1), default=1, show_default=True, help="Labs at the same time."
)
PROVIDER = click.option(
    "--provider",
    default="netns",
    show_default=True,
    metavar="NAME[:SERVERS+CLIENTS]",
    help=f"What nodes are made of: {', '.join(sorted(PROVIDERS))}. With numbers: no more than these.",
)
NOMAD = click.option("--nomad", default=DEFAULT_NOMAD, show_default=True, metavar="VERSION|PATH")
YES = click.option("--yes", is_flag=True, help="Execute what a bundle brings with it without asking.")


class Seconds(click.ParamType[float]):
    """A span of time: 90s, 30m, 2h."""

    name = "TIME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Its seconds."""
        match = re.fullmatch(r"([\d.]+)([smh]?)", str(value))
        if match is None:
            self.fail(f"{value!r} is no time: say 90s, 30m or 2h", param, ctx)
        return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]
