"""A rule a plugin is held to: what it says, where that is written, and the check that finds out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from stormpool.conform.results import Result
from stormpool.errors import Misuse

Bench = TypeVar("Bench")
Check = Callable[[Bench], str | None]  # returns what else is to be told of a plugin that keeps the rule


class Broken(Exception):
    """The plugin was seen to break the rule; says what was seen."""


class NotOffered(Exception):
    """The plugin does not say that it can do what the rule is about; says what that is. No pass."""


class Rule(Generic[Bench]):
    """A named check. It raises `Broken` or `NotOffered`; anything else it raises leaves the rule not judged.

    The rules of a family say the same of different calls: "killed during: CreateVolume".
    """

    def __init__(self, name: str, source: str, check: Check[Bench]) -> None:
        if not source:
            raise ValueError(f"rule {name!r} has no source")
        self.name = name
        self.source = source
        self.check = check
        self.statement = " ".join((check.__doc__ or "").split("\n\n")[0].split())

    @property
    def family(self) -> str:
        """What comes before the colon; the whole name where there is none."""
        return self.name.partition(": ")[0]

    @property
    def of(self) -> str:
        """Which of its family it is; nothing where it is the only one."""
        return self.name.partition(": ")[2]

    def __repr__(self) -> str:
        return f"<rule {self.name!r}>"


class Cases(Rule[Bench]):
    """Rules that a program of somebody else's judges, all at once; each is told as a result of its own."""

    def __init__(self, name: str, source: str, judged: Callable[[Bench], Sequence[Result]]) -> None:
        def check(bench: Bench) -> None:
            judged(bench)

        check.__doc__ = judged.__doc__
        super().__init__(name, source, check)
        self.judged = judged


def rule(*, source: str, of: str = "") -> Callable[[Check[Bench]], Rule[Bench]]:
    """Make a check a rule named as the function is; `of`: which of its family it is."""

    def make(check: Check[Bench]) -> Rule[Bench]:
        family = check.__name__.replace("_", " ")
        return Rule(f"{family}: {of}" if of else family, source, check)

    return make


def picked(
    rules: Sequence[Rule[Bench]], names: Iterable[str], without: Iterable[str] = ()
) -> list[Rule[Bench]]:
    """The rules and families that are named, all when none is, but for those left out.

    Raises `Misuse` for a name that no rule has.
    """
    known = {name for each in rules for name in (each.name, each.family)}
    wanted, unwanted = set(names), set(without)
    for name in sorted((wanted | unwanted) - known):
        raise Misuse(f"no rule is named {name!r}", fix="see --list for their names")
    return [
        each
        for each in rules
        if (not wanted or {each.name, each.family} & wanted) and not {each.name, each.family} & unwanted
    ]


def table(rules: Iterable[Rule[Bench]]) -> str:
    """The rules as a table, in Markdown; a family is one line."""
    families: dict[str, list[Rule[Bench]]] = {}
    for each in rules:
        families.setdefault(each.family, []).append(each)
    lines = ["| rule | of | what it says | source |", "|---|---|---|---|"]
    for family, members in families.items():
        of = ", ".join(each.of for each in members)
        sources = " · ".join(
            dict.fromkeys(each.source.replace(each.of or family, "each call") for each in members)
        )
        lines.append(f"| *{family}* | {of} | {members[0].statement} | {sources} |")
    return "\n".join(lines) + "\n"
