"""What a bundle of somebody's would execute here: said in full, or refused where nobody could know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from stormpool.errors import Misuse
from stormpool.report.plain import plain
from stormpool.run import About
from stormpool.script import Script
from stormpool.store import RunDirectory

if TYPE_CHECKING:
    from stormpool.again.bundle import Unpacked

LONGEST = 2000  # characters of a line


def executed(found: Unpacked) -> list[str]:
    """What replaying it executes, a line each; all that the bundle says is made plain.

    Raises `Misuse` for a program that is named by its path, which is another one on each machine.
    """
    run = RunDirectory.existing(found.run)
    for agent in agents(run):
        if is_path(agent) or not agent:
            raise Misuse(
                f"the bundle's run had an agent of its own, {plain(agent) or 'without a name'}",
                fix="get that program, read the scenario, and run that with --nomad PATH",
            )
    script = _script(run)
    long = len(found.source.read_bytes().splitlines())
    lines = [
        f"the scenario, Python: {found.source} ({long} lines)",
        f"the agent: nomad {_nomad(run.about())}",
        *_of_plugins(script),
        *_of_faults(script),
    ]
    return [plain(line, LONGEST) for line in lines]


def agents(run: RunDirectory) -> list[str]:
    """The agents that a run had, those that took the place of others too: by version, or by path."""
    script = _script(run) if run.script.exists() else Script(run.about().lab)
    return [_nomad(run.about()), *(str(fault["version"]) for fault in _faults(script) if "version" in fault)]


def is_path(agent: str) -> bool:
    """Whether an agent is named by its path, at which another machine has another program."""
    return "/" in agent


def _script(run: RunDirectory) -> Script:
    try:
        return msgspec.json.decode(run.read_script(), type=Script)
    except msgspec.DecodeError as error:
        raise Misuse(f"{run.script} cannot be read: {error}", fix="have the bundle sent again") from error


def _nomad(about: About) -> str:
    for given in about.programs.values():
        return given.path
    return about.versions.get("nomad", "")


def _of_plugins(script: Script) -> Iterator[str]:
    for plugin in script.lab.plugins:
        yield f"plugin {plugin.id}, as the scenario says; there it was: {' '.join(plugin.argv)}"


def _of_faults(script: Script) -> Iterator[str]:
    """Faults that start a program of the bundle's choice."""
    for fault in _faults(script):
        if "version" in fault:
            yield f"an agent that is changed: nomad {fault['version']}"
        if "argv" in fault:
            yield f"on a node, in the place of a plugin: {fault['argv']}"


def _faults(script: Script) -> Iterator[dict[str, Any]]:
    """The faults that are planned, as they are written down."""
    for act in script.acts:
        for planned in act.plan.planned:
            if isinstance(planned.fault, dict):
                yield planned.fault
