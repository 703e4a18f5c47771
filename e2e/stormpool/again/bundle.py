"""A run in one file, to attach to a bug report: all that judges it again, and all that runs it again."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec

from stormpool.again import consent
from stormpool.errors import Misuse
from stormpool.report.plain import plain
from stormpool.runner import slug
from stormpool.store import RunDirectory

SUFFIX = ".stormpool.zip"
MANIFEST = "manifest.json"
SCENARIO = "scenario"  # the folder of the scenario's file
LARGEST = 2 << 30  # bytes that a bundle may take once unpacked
LEFT_OUT = ("door",)  # folders of a run that are of no use later


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
    """Write the bundle of a run, and return where it is.

    Raises `Misuse` when its scenario is not there, or it had an agent that nobody can be sent by its version.
    """
    about = run.about()
    for agent in consent.agents(run):
        if consent.is_path(agent):
            raise Misuse(
                f"the run had an agent of its own, {plain(agent)}, and others have another, or none",
                fix="bundle a run of an agent by version, or send that program and the scenario",
            )
    path, _, test = about.scenario.partition("::")
    if not Path(path).is_file():
        raise Misuse(
            f"the run's scenario is not at {path}", fix="run this in the directory in which it was run"
        )
    target = to or Path(run.path.name + SUFFIX)
    inside = f"{SCENARIO}/{Path(path).name}"
    files = {str(each.relative_to(run.path)): each for each in _files(run.path)} | {inside: Path(path)}
    sums = {name: _sha256(file) for name, file in files.items()}
    manifest = Manifest(f"{path}::{test}", inside, version("stormpool"), sums)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
        for name, file in sorted(files.items()):
            packed.write(file, name)
    return target


def unpack(path: Path, out: Path) -> Unpacked:
    """A bundle in a directory of its own below `out`, which stays: its runs say that their scenario is there.

    Where that is there and is not as it was packed any more, as after `stormpool check`, it is unpacked anew.
    Raises `Misuse` when it is no bundle, or itself not as it was packed.
    """
    into = out.absolute() / f"bundle-{slug(path.name.removesuffix(SUFFIX))}-{_sha256(path)[:8]}"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".bundle-", dir=out) as name:
        draft = Path(name)
        manifest = _extracted(path, draft / "bundle")
        if not into.exists() or any(_changed(manifest, into)):
            if into.exists():
                into.rename(draft / "changed")
            (draft / "bundle").rename(into)  # whole, or not there
    test = manifest.scenario.partition("::")[2]
    return Unpacked(into, f"{into / manifest.file}::{test}", into / manifest.file)


def _extracted(path: Path, into: Path) -> Manifest:
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(each.file_size for each in packed.infolist()) > LARGEST:
                raise Misuse(f"{path} would take over {LARGEST >> 30} GiB", fix="ask for a smaller run")
            packed.extractall(into)
    except (zipfile.BadZipFile, OSError) as error:
        raise _no_bundle(path, error) from error
    manifest = _manifest(path, into)
    for name in _changed(manifest, into):
        raise Misuse(f"{path}: {plain(name)} is not as it was packed", fix="have it sent again")
    there = {str(each.relative_to(into)) for each in into.rglob("*") if not each.is_dir()}
    for name in sorted(there ^ {*manifest.sha256, MANIFEST}):
        raise Misuse(f"{path}: {plain(name)} is not what the bundle says is in it", fix="have it sent again")
    return manifest


def _manifest(path: Path, into: Path) -> Manifest:
    """What a bundle says is in it."""
    try:
        return msgspec.json.decode((into / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise _no_bundle(path, error) from error


def _changed(manifest: Manifest, into: Path) -> Iterator[str]:
    """The files that are not in a directory as they were packed."""
    for name in (manifest.file, *manifest.sha256):
        file = into / name
        inside = file.resolve().is_relative_to(into.resolve()) and file.is_file()
        if not inside or manifest.sha256.get(name) != _sha256(file):
            yield name


def _no_bundle(path: Path, error: Exception) -> Misuse:
    return Misuse(f"{path} is no bundle: {error}", fix="give a file that `stormpool bundle` wrote")


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _files(run: Path) -> Iterator[Path]:
    for each in sorted(run.rglob("*")):
        if each.is_file() and each.relative_to(run).parts[0] not in LEFT_OUT:
            yield each
