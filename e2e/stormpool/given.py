"""Programs given by their path: what they were when they ran, so that only the same is run again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from stormpool.errors import Misuse
from stormpool.run import About, Program


def program(path: Path) -> Program:
    """The program at a path, as it is now."""
    with path.open("rb") as file:
        return Program(str(path.resolve()), hashlib.file_digest(file, "sha256").hexdigest())


def nomad_of(about: About) -> str:
    """What to ask for to run a run's agent again: its version, or its path where it was given by that.

    Raises `Misuse` when the program is not there any more, or is another one now.
    """
    given = about.programs.get("nomad")
    if given is None:
        return about.versions["nomad"]
    path = Path(given.path)
    if not path.is_file():
        raise Misuse(f"the run's agent, {path}, is not there any more", fix="put it there again")
    if program(path) != given:
        raise Misuse(
            f"{path} is not the program that the run was made with",
            fix=f"put that one there again: its SHA-256 is {given.sha256}",
        )
    return given.path
