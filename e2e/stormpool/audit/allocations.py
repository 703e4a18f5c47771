"""Which allocation something belongs to, by the paths that Nomad gives it."""

from __future__ import annotations

import re
from collections.abc import Iterable

ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# An allocation's directory, and where its tasks see it, in an agent's data directory (nomad,
# client/allocdir/alloc_dir.go); what an agent has a CSI plugin publish for it, and stage (nomad,
# client/pluginmanager/csimanager/volume.go).
DIRECTORY = re.compile(rf"(?P<data>/[^\s\",]*?)/alloc(?:_mounts)?/(?P<id>{ID})(?![-\w])")
PUBLISHED = re.compile(rf"(?P<data>/[^\s\",]*?)/client/csi/.+/per-alloc/(?P<id>{ID})/")
ASKED = re.compile(r"(?P<data>/[^\s\",]*?)/client/csi/.+/(?P<kind>staging|per-alloc)/")
# The same directory wherever an operator has put it (client.alloc_dir): what is in it has these names.
ELSEWHERE = re.compile(rf"(?P<root>/[^\s\",]*?)/(?P<id>{ID})/(?:alloc/logs/|[^/\s\"]+/executor\.out)")


def of(path: str) -> str:
    """The id of the allocation that a path, or a command line with one, is of; nothing where it is none's."""
    found = DIRECTORY.search(path) or PUBLISHED.search(path) or ELSEWHERE.search(path)
    return found["id"] if found else ""


def data_dirs(paths: Iterable[str]) -> set[str]:
    """The data directories of agents, by paths in them."""
    found = (pattern.search(path) for path in paths for pattern in (DIRECTORY, ASKED))
    return {match["data"] for match in found if match}


def roots(paths: Iterable[str]) -> set[str]:
    """Where allocations have their directories, by paths in them."""
    found = (ELSEWHERE.search(path) for path in paths)
    return {match["root"] for match in found if match}
