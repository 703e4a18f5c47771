"""Audits as a user calls them, and what came of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Audited:
    """What came of audits, by name: what each that failed found, on any node."""

    failed: dict[str, list[str]] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)


def pytest_argv(hosts: str, results: Path, *options: str) -> list[str]:
    """All audits, as a user calls them; nothing of this repository's configuration counts."""
    argv = [sys.executable, "-m", "pytest", f"--hosts={hosts}", "--pyargs", "stormpool.audit"]
    return [
        *argv,
        "-p",
        "no:cacheprovider",
        f"--rootdir={results}",
        f"--junitxml={results}/audits.xml",
        *options,
    ]


def audited(hosts: str, results: Path, *options: str) -> Audited:
    """Run all audits."""
    argv = pytest_argv(hosts, results, *options)
    done = subprocess.run(argv, cwd=results, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return read(results)


def read(results: Path) -> Audited:
    """What pytest has written down."""
    seen = Audited()
    for case in ElementTree.parse(results / "audits.xml").iter("testcase"):
        name = case.attrib["name"].partition("[")[0].removeprefix("test_")
        if (failure := next(iter([*case.iter("failure"), *case.iter("error")]), None)) is not None:
            said = [line.partition(": ")[2] for line in (failure.text or "").splitlines() if "://" in line]
            seen.failed.setdefault(name, []).extend(said)
        else:
            (seen.skipped if case.find("skipped") is not None else seen.passed).add(name)
    return seen
