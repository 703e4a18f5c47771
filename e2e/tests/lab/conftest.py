"""What every lab test starts from: a command line with a state of its own, and the host as it was."""

import subprocess
from pathlib import Path

import pytest

from harness import ROOT, CommandLine, Host, command


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labs of other harnesses on this host are none of a test's business."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def stormpool() -> CommandLine:
    """Run the command line from the repository's root."""

    def run(*argv: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*argv), cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout
        )

    return run


@pytest.fixture
def host() -> Host:
    """This host as it was before the test."""
    return Host()
