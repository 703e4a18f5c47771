"""The door for commands on this host."""

import signal
import subprocess

import pytest

from stormpool import shell
from stormpool.errors import CommandFailed


def test_who_follows_a_command_hears_it_and_gets_what_it_wrote() -> None:
    heard: list[str] = []
    written = shell.follow(["sh", "-c", "echo one >&2; echo path; echo two >&2"], heard.append)
    assert (heard, written) == (["one", "two"], "path\n")


def test_a_command_that_fails_says_all_it_said() -> None:
    with pytest.raises(CommandFailed, match="ended with 3: no room") as failed:
        shell.follow(["sh", "-c", "echo no room >&2; exit 3"], print, where="there")
    assert failed.value.where == "there"


def test_nobody_waits_longer_for_a_process_than_it_may_take() -> None:
    with subprocess.Popen(["sleep", "60"]) as process, shell.bounded(process, 0.05):
        assert process.wait() == -signal.SIGKILL
    with subprocess.Popen(["sleep", "0.2"]) as process:
        with shell.bounded(process, 0.05 + 60):
            pass
        assert process.wait() == 0
