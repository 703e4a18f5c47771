"""What a lab puts on its machines: the harness, the plugins, the agent, each at the path it has on this host.

One image, which every machine mounts read-only: copying as much over ssh would take an emulated machine a
minute. Python packages are the machine's own kind, for the machine's own interpreter.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from stormpool import shell, stubs
from stormpool.errors import CommandFailed, MachineError
from stormpool.lab import Lab
from stormpool.programs import FIXTURES, cache_home

MOUNTED = "/lab/payload"
PYTHON = "3.13"  # the box's
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64", "any")
SOURCE = Path(__file__).resolve().parents[3]
ROOM = 64  # MiB of the image beside what is in it
MIB = 1 << 20
NOT_ON_NODES = {"pytest", "rich", "click"}  # what only the harness and its command line import
PLACE = Path(__file__).with_name("place.sh")


def place(data_dir: str) -> list[str]:
    """The command that puts on a machine what the image has."""
    own = f"/usr/local/lib/python{PYTHON}/dist-packages"
    sources = (f"{MOUNTED}/site", str(SOURCE), str(FIXTURES))
    return ["sh", f"{MOUNTED}/tree{PLACE}", data_dir, own, *sources]


def make(image: Path, lab: Lab, programs: Iterable[Path]) -> None:
    """Make the image. `programs`: files of this host that agents and plugins are started from."""
    scratch = image.with_suffix(".tree")
    tree = scratch / "tree"
    what = {path: path for path in (SOURCE / "stormpool", FIXTURES, *programs, *_named_by(lab))}
    what |= {stubs.directory_without_generator(name): stubs.ensure(name) for name in stubs.SOURCES}
    for there, here in what.items():
        _copy(here, tree / there.relative_to("/"))
    placed = [*what]
    python = Path(sys.executable)
    if not _of_system(python):
        interpreter = tree / python.relative_to("/")
        interpreter.parent.mkdir(parents=True, exist_ok=True)
        interpreter.write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
        interpreter.chmod(0o755)
        placed.append(python)
    shutil.copytree(site(), scratch / "site")
    (scratch / "paths").write_text("".join(f"{path}\n" for path in placed))
    size = sum(file.lstat().st_size for file in scratch.rglob("*")) // MIB + ROOM
    shell.run(
        ["mke2fs", "-q", "-t", "ext4", "-L", "payload", "-m", "0", "-d", str(scratch), str(image), f"{size}M"]
    )
    shutil.rmtree(scratch)


def site() -> Path:
    """The packages that run on nodes, in the versions this host has, for a machine's interpreter; cached."""
    wanted = sorted(f"{name}=={metadata.version(name)}" for name in _needed("stormpool"))
    key = hashlib.sha256("\n".join([PYTHON, *PLATFORMS, *wanted]).encode()).hexdigest()[:12]
    found = cache_home() / f"site-{key}"
    if not found.exists():
        cache_home().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_home()) as scratch:
            draft = Path(scratch) / "site"
            _install(wanted, draft)
            with contextlib.suppress(OSError):  # another lab was first
                draft.rename(found)
    return found


def _install(wanted: Iterable[str], directory: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-compile", "--only-binary=:all:", f"--python-version={PYTHON}"]
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    try:
        shell.run([*pip, *options, *platforms, f"--target={directory}", *wanted], timeout=600)
    except CommandFailed as failed:
        message = f"the packages for the machines' Python {PYTHON} cannot be had: {failed}"
        raise MachineError(message) from failed


def _needed(name: str) -> set[str]:
    """What a distribution needs, and what that needs, without extras."""
    found: set[str] = set()
    queue = [name]
    while queue:
        for needed in _direct(queue.pop()):
            if needed not in found | NOT_ON_NODES:
                found.add(needed)
                queue.append(needed)
    return found


def _direct(name: str) -> Iterator[str]:
    for requirement in metadata.requires(name) or ():
        told, _, marker = requirement.partition(";")
        if "extra" not in marker and "python_version" not in marker and "platform" not in marker:
            match = re.match(r"[\w.-]+", told.strip())
            if match:
                yield match[0].lower()


def _named_by(lab: Lab) -> Iterator[Path]:
    """Files of this host that plugins are started with: programs, and what their arguments name."""
    for plugin in lab.plugins:
        for word in plugin.argv:
            path = Path(word)
            if (
                path.is_absolute()
                and path.is_file()
                and path != Path(sys.executable)
                and not _of_system(path)
            ):
                yield path


def _of_system(path: Path) -> bool:
    """Whether a machine has a file of its own there."""
    return path.parts[1] in {"bin", "sbin", "usr", "lib", "lib64", "etc", "dev", "proc", "sys"}


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(
            path, to, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )
    else:
        shutil.copy2(path, to)
