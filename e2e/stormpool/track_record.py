"""What agents are known to break: which scenario shows it, on which versions, how often.

A known breach is expected: a run in which it does not show fails, so that nobody misses that it was mended.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from stormpool.errors import Misuse

ENOUGH = 3  # runs, all of them red, after which a run that is not is news


class Entry(msgspec.Struct, frozen=True):
    """One thing that is known."""

    what: str
    scenario: str  # FILE::TEST, the file relative to the record
    guarantees: tuple[str, ...]  # that are broken in every run that is red
    red: dict[str, str]  # version → how often it was seen red: "20 of 20"
    green: dict[str, str] = {}
    issue: str = ""
    also: tuple[str, ...] = ()  # guarantees that are broken in some

    def always_red(self, version: str) -> bool:
        """Whether every run on a version showed it, and there were enough of them to say so."""
        seen, _, runs = self.red.get(version, "").partition(" of ")
        return seen == runs and int(runs or 0) >= ENOUGH

    def news(self, broken: frozenset[str], version: str) -> str:
        """What is not as it is known of a run that broke something; nothing when it is."""
        held = {*self.guarantees} - broken if self.always_red(version) else set()
        unknown = broken - {*self.guarantees, *self.also}
        said = [f"known to break {', '.join(sorted(held))}, and did not"] if held else []
        said += [f"not known to break {', '.join(sorted(unknown))}"] if unknown else []
        return "; ".join(said)


class Record(msgspec.Struct, frozen=True):
    """All that is known."""

    entry: tuple[Entry, ...]

    def of(self, scenario: str, version: str) -> Entry | None:
        """What is known of a scenario on a version; by the file's name and the test's."""
        name = Path(scenario).name
        found = (each for each in self.entry if Path(each.scenario).name == name and version in each.red)
        return next(found, None)


def read(path: Path) -> Record:
    """Read a record. Raises `Misuse` when it is none."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Record)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise Misuse(f"{path} is no track record: {error}", fix="see scenarios/track-record.toml") from error


def table(record: Record) -> str:
    """The record as a table, in Markdown."""
    lines = ["| what | scenario | breaks | red | green |", "|---|---|---|---|---|"]
    for each in record.entry:
        what = f"{each.what} ({each.issue})" if each.issue else each.what
        broken = ", ".join(f"*{name}*" for name in each.guarantees)
        broken += "".join(f", at times *{name}*" for name in each.also)
        cells = (what, f"`{each.scenario}`", broken, _seen(each.red), _seen(each.green))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _seen(versions: dict[str, str]) -> str:
    return " · ".join(f"{version}: {often}" for version, often in versions.items())
