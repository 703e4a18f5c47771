"""A scenario as a function: loaded from its file, to be run on a lab as often as one likes without pytest."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from stormpool.errors import Misuse
from stormpool.lab import Lab


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
    lab = getattr(module, "LAB", None)
    if not isinstance(lab, Lab):
        raise Misuse(
            f"{path} has no `LAB`", fix="say which: LAB = Lab(servers=3, clients=3, plugins=[csi.zfs()])"
        )
    return Story(f"{path}::{name}", lab, act)


def _module(path: Path) -> ModuleType:
    name = f"stormpool_story_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise Misuse(f"no scenario is at {path}", fix="give a file of scenarios, or FILE::TEST")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # what its own faults and workloads are looked up in
    spec.loader.exec_module(module)
    return module


def _is_story(name: str, what: object) -> bool:
    return (
        name.startswith("test_")
        and inspect.isfunction(what)
        and list(inspect.signature(what).parameters) == ["cluster"]
    )
