"""Where an agent's program comes from: a path given, then the cache, then a build from its Go module.

A version is a folder under `fixtures/agents/` (see `stormpool.programs`): adding a version is adding a
folder. Every program is asked for its version before it is used.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stormpool import programs, shell
from stormpool.errors import CommandFailed, MachineError, Misuse
from stormpool.programs import FIXTURES, Progress, Recipe

VERSION = re.compile(r"v(\d+\.\d+\.\d+[\w.+-]*)")


@dataclass(frozen=True)
class Agent:
    """A program that is there and said its version."""

    version: str
    path: Path


def recipes() -> dict[str, Recipe]:
    """Every version that can be built, by its name."""
    found = [programs.recipe(file.parent) for file in FIXTURES.glob("agents/*/build.toml")]
    found.sort(key=lambda recipe: [int(part) for part in recipe.version.split(".")])
    return {recipe.version: recipe for recipe in found}


def resolve(wanted: str, progress: Progress = lambda _: None) -> Agent:
    """The agent asked for: a path to a program, or a version that is cached or can be built.

    Raises `Misuse` for a version nobody pinned and a path that leads nowhere, `MachineError` when a build
    fails or a program says another version than asked for.
    """
    if "/" in wanted:
        return _given(Path(wanted).expanduser())
    recipe = recipes().get(wanted.removeprefix("v"))
    if recipe is None:
        known = ", ".join(recipes())
        raise Misuse(
            f"no Nomad {wanted!r} is known; known are {known}",
            fix="give one of these, the path of a nomad program (with a '/' in it), or add a folder with its "
            f"go.mod and build.toml under {FIXTURES / 'agents'}",
        )
    checked = partial(_checked, version=recipe.version)
    program = programs.ensure(recipe, checked, progress)
    return Agent(checked(program), program)


def _given(program: Path) -> Agent:
    if not os.access(program, os.X_OK) or program.is_dir():
        raise Misuse(f"{program} is not a program that can be run", fix="give the path of a nomad program")
    return Agent(version_of(program), program.resolve())


def version_of(program: Path) -> str:
    """The version a program says it is."""
    try:
        said = shell.run([str(program), "version"], timeout=30).stdout
    except (CommandFailed, OSError) as error:
        raise Misuse(
            f"{program} does not answer to `version`: {error}", fix="give a nomad program"
        ) from error
    match = VERSION.search(said)
    if match is None:
        raise Misuse(f"{program} says {said.strip()!r}, which is no version", fix="give a nomad program")
    return match[1]


def _checked(program: Path, version: str) -> str:
    said = version_of(program)
    if said != version:
        raise MachineError(
            f"{program} says it is {said}, not {version}; remove {program.parent} to build it anew"
        )
    return said
