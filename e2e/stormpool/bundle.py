"""A run in one file, to attach to a bug report: all that judges it again, and all that runs it again."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec

from stormpool.errors import Misuse
from stormpool.store import RunDirectory

SUFFIX = ".stormpool.zip"
MANIFEST = "manifest.json"
SCENARIO = "scenario"  # the folder of the scenario's file
LARGEST = 2 << 30  # bytes that a bundle may take once unpacked
LEFT_OUT = ("shrink", "replays", "door")  # folders of a run that are other runs, or of no use later


class Manifest(msgspec.Struct, frozen=True):
    """What is in a bundle."""

    scenario: str  # FILE::TEST, as it was named where the bundle was made
    file: str  # the scenario's file in the bundle
    stormpool: str  # the version that made it
    sha256: dict[str, str]  # of each file


@dataclass(frozen=True)
class Unpacked:
    """A bundle that was unpacked."""

    run: Path
    scenario: str  # FILE::TEST, of the file that was in the bundle
    source: Path  # that file


def pack(run: RunDirectory, to: Path | None = None) -> Path:
    """Write the bundle of a run, and return where it is. Raises `Misuse` when its scenario is not there."""
    about = run.about()
    path, _, test = about.scenario.partition("::")
    if not Path(path).is_file():
        raise Misuse(
            f"the run's scenario is not at {path}", fix="run this in the directory in which it was run"
        )
    target = to or Path(run.path.name + SUFFIX)
    inside = f"{SCENARIO}/{Path(path).name}"
    files = {str(each.relative_to(run.path)): each for each in _files(run.path)} | {inside: Path(path)}
    sums = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    manifest = Manifest(f"{path}::{test}", inside, version("stormpool"), sums)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
        for name, file in sorted(files.items()):
            packed.write(file, name)
    return target


@contextmanager
def unpacked(path: Path) -> Iterator[Unpacked]:
    """A bundle in a directory of its own, which is gone on leaving.

    Raises `Misuse` when it is no bundle, or not as it was packed.
    """
    with tempfile.TemporaryDirectory(prefix="stormpool-bundle-") as directory:
        into = Path(directory)
        manifest = _unpack(path, into)
        test = manifest.scenario.partition("::")[2]
        yield Unpacked(into, f"{into / manifest.file}::{test}", into / manifest.file)


def _unpack(path: Path, into: Path) -> Manifest:
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(each.file_size for each in packed.infolist()) > LARGEST:
                raise Misuse(f"{path} would take over {LARGEST >> 30} GiB", fix="ask for a smaller run")
            packed.extractall(into)
        manifest = msgspec.json.decode((into / MANIFEST).read_bytes(), type=Manifest)
    except (zipfile.BadZipFile, OSError, msgspec.DecodeError) as error:
        raise Misuse(
            f"{path} is no bundle: {error}", fix="give a file that `stormpool bundle` wrote"
        ) from error
    for name, wanted in manifest.sha256.items():
        file = into / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != wanted:
            raise Misuse(f"{path}: {name} is not as it was packed", fix="have it sent again")
    return manifest


def _files(run: Path) -> Iterator[Path]:
    for each in sorted(run.rglob("*")):
        if each.is_file() and each.relative_to(run).parts[0] not in LEFT_OUT:
            yield each
