"""What a bundle of somebody's would execute here: said in full, or refused where nobody could know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from stormpool.again.bundle import Unpacked
from stormpool.errors import Misuse
from stormpool.report.plain import plain
from stormpool.run import About
from stormpool.script import Script
from stormpool.store import RunDirectory

LONGEST = 2000  # characters of a line


def executed(found: Unpacked) -> list[str]:
    """What replaying it executes, a line each; all that the bundle says is made plain.

    Raises `Misuse` for a program that is named by its path, which is another one on each machine.
    """
    run = RunDirectory.existing(found.run)
    about = run.about()
    try:
        script = msgspec.json.decode(run.read_script(), type=Script)
    except msgspec.DecodeError as error:
        raise Misuse(f"{run.script} cannot be read: {error}", fix="have the bundle sent again") from error
    long = len(found.source.read_bytes().splitlines())
    lines = [
        f"the scenario, Python: {found.source} ({long} lines)",
        f"the agent: nomad {_version(_nomad(about))}",
        *_of_plugins(script),
        *_of_faults(script),
    ]
    return [plain(line, LONGEST) for line in lines]


def _nomad(about: About) -> str:
    for given in about.programs.values():
        return given.path
    return about.versions.get("nomad", "")


def _version(wanted: str) -> str:
    if "/" in wanted or not wanted:
        raise Misuse(
            f"the bundle's run had an agent of its own, {plain(wanted) or 'without a name'}",
            fix="get that program, read the scenario, and run that with --nomad PATH",
        )
    return wanted


def _of_plugins(script: Script) -> Iterator[str]:
    for plugin in script.lab.plugins:
        yield f"plugin {plugin.id}, as the scenario says; there it was: {' '.join(plugin.argv)}"


def _of_faults(script: Script) -> Iterator[str]:
    """Faults that start a program of the bundle's choice."""
    for act in script.acts:
        for planned in act.plan.planned:
            fault: dict[str, Any] = planned.fault if isinstance(planned.fault, dict) else {}
            if "version" in fault:
                yield f"an agent that is changed: nomad {_version(str(fault['version']))}"
            if "argv" in fault:
                yield f"on a node, in the place of a plugin: {fault['argv']}"
