"""The wall between the rings: what judges and draws does no I/O, reads no clock and knows no orchestrator."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "stormpool"

PURE = sorted(
    [
        PACKAGE / "lab.py",
        PACKAGE / "links.py",
        PACKAGE / "capability.py",
        PACKAGE / "conform" / "rule.py",
        PACKAGE / "conform" / "results.py",
        PACKAGE / "conform" / "external" / "look.py",
        PACKAGE / "conform" / "external" / "specification.py",
        PACKAGE / "events.py",
        PACKAGE / "history.py",
        PACKAGE / "verdict.py",
        PACKAGE / "run.py",
        PACKAGE / "nemesis.py",
        PACKAGE / "pace.py",
        PACKAGE / "explore" / "points.py",
        PACKAGE / "target.py",
        PACKAGE / "guarantees.py",
        PACKAGE / "errors.py",
        PACKAGE / "instances.py",
        PACKAGE / "providers" / "link" / "lane.py",
        PACKAGE / "providers" / "addresses.py",
        PACKAGE / "providers" / "firewall.py",
        PACKAGE / "providers" / "netem.py",
        PACKAGE / "goplugin" / "handshake.py",
        PACKAGE / "tap" / "frames.py",
        PACKAGE / "tap" / "flow.py",
        PACKAGE / "tap" / "outputs.py",
        PACKAGE / "tap" / "relay.py",
        PACKAGE / "tap" / "wire.py",
        PACKAGE / "tap" / "calls.py",
        PACKAGE / "tap" / "messages.py",
        *(PACKAGE / "checkers").glob("*.py"),
        *(PACKAGE / "models").glob("*.py"),
        *(PACKAGE / "leaks").glob("*.py"),
        *(PACKAGE / "report").glob("*.py"),
    ]
)
INSIDE = {"stormpool." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in PURE} | {
    "stormpool.tap",
    "stormpool.checkers",
    "stormpool.models",
    "stormpool.leaks",
    "stormpool.report",
}
# Nothing here opens, waits, asks the time or draws a number.
OUTSIDE = {
    "__future__",
    "base64",
    "bisect",
    "calendar",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "google",
    "hashlib",
    "heapq",
    "hpack",
    "html",
    "itertools",
    "json",
    "msgspec",
    "operator",
    "re",
    "statistics",
    "random",  # only with a seed: see test_chances_are_seeded
    "struct",
    "types",
    "typing",
    "urllib",
    "xml",
}
FORBIDDEN_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_pure_ring_is_pure(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                assert name.name.partition(".")[0] in OUTSIDE, f"{path.name} imports {name.name}"
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.startswith("stormpool"):
                within = {module, *(f"{module}.{name.name}" for name in node.names)}
                assert within & INSIDE, f"{path.name} imports {module}, which is not pure"
            else:
                assert module.partition(".")[0] in OUTSIDE, f"{path.name} imports {module}"
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
        ):
            assert node.attr == "Random", f"{path.name} draws numbers without a seed"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"{path.name} calls {node.func.id}"


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_chances_are_seeded(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert "random" not in {name.name for name in node.names}, "take Random, and give it a seed"
        elif isinstance(node, ast.ImportFrom) and node.module == "random":
            assert {name.name for name in node.names} == {"Random"}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Random":
            assert node.args, "a Random without a seed"


def test_nothing_above_the_providers_knows_about_namespaces() -> None:
    words = ("nsenter", "unshare", "veth", "/sys/fs/cgroup", "netns import", "/proc/")
    above = [
        path
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("providers", "audit", "observe")  # of any Linux host
        and path.name not in ("observe.py", "ledger.py", "capacity.py", "processes.py", "pipes.py")
    ]
    for path in above:
        code = _without_prose(path)
        found = [word for word in words if word in code]
        assert path.name in ("runner.py", "sockets.py") or not found, f"{path.name} speaks of {found}"


def _without_prose(path: Path) -> str:
    """A file's code, its docstrings and comments left out."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            body[0] = ast.Pass()
    return ast.unparse(tree)
