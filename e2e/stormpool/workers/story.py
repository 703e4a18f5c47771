"""A scenario as a function: loaded from its file, to be run on a lab as often as one likes without pytest."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from stormpool.errors import Misuse
from stormpool.lab import Lab, lab_of

_LOADED: dict[Path, tuple[bytes, ModuleType]] = {}  # file → what was in it, and what came of that


@dataclass(frozen=True)
class Story:
    """A test of a file of scenarios, with the lab its module asks for."""

    name: str  # FILE::TEST, as pytest names it
    lab: Lab
    act: Callable[[Any], None]  # takes the cluster


def load(wanted: str) -> Story:
    """The story of that name; FILE alone where it holds only one.

    Raises `Misuse` when there is none, when there are several, and for one that takes more than a cluster.
    """
    path, _, test = wanted.partition("::")
    module = _module(Path(path))
    found = {name: each for name, each in vars(module).items() if _is_story(name, each)}
    if test:
        found = {name: each for name, each in found.items() if name == test}
    if len(found) != 1:
        what = "no test takes" if not found else "several tests take"
        raise Misuse(
            f"{wanted}: {what} just a cluster",
            fix="name one: FILE::TEST, a function with the argument `cluster`",
        )
    ((name, act),) = found.items()
    lab = lab_of(vars(module), name)
    if lab is None:
        raise Misuse(
            f"{path} has no `LAB`", fix="say which: LAB = Lab(servers=3, clients=3, plugins=[csi.zfs()])"
        )
    return Story(f"{path}::{name}", lab, act)


def _module(path: Path) -> ModuleType:
    """The file as a module: the same one however often it is asked for, until the file changes.

    Its faults and workloads are told apart by their names, so that each must be there only once.
    """
    if not path.is_file():
        raise Misuse(f"no scenario is at {path}", fix="give a file of scenarios, or FILE::TEST")
    file = path.resolve()
    source = file.read_bytes()
    known = _LOADED.get(file)
    if known is None or known[0] != source:
        known = _LOADED[file] = source, _imported(file)
    return known[1]


def _imported(file: Path) -> ModuleType:
    name = f"stormpool_story_{file.stem}_{hashlib.sha256(bytes(file)).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Misuse(f"{file} is no file of Python", fix="give a file of scenarios, or FILE::TEST")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # what its own faults and workloads are looked up in
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints is none of our results
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise Misuse(
            f"{file} cannot be imported: {type(error).__name__}: {error}", fix="mend the scenario"
        ) from error
    return module


def _is_story(name: str, what: object) -> bool:
    return (
        name.startswith("test_")
        and inspect.isfunction(what)
        and list(inspect.signature(what).parameters) == ["cluster"]
    )
