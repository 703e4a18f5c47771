"""A lab to play with: it stays until it is taken down, and other commands find it."""

import json
import os
import signal
import urllib.request

import pytest

from harness import CommandLine, Host

pytestmark = pytest.mark.lab


def test_up_status_exec_logs_down(stormpool: CommandLine, host: Host, tmp_path: object) -> None:
    up = stormpool("up", "--servers", "1", "--clients", "1", "--out", str(tmp_path), "--json")
    assert up.returncode == 0, up.stderr
    lab = json.loads(up.stdout)
    try:
        with urllib.request.urlopen(f"{lab['addresses']['server1']}/v1/status/leader", timeout=10) as answer:
            assert json.load(answer) == "10.77.0.1:4647"
        assert json.loads(stormpool("status", "--json").stdout)["lab_id"] == lab["lab_id"]
        pool = stormpool("exec", "client1", "--", "zpool", "list", "-H", "-o", "name,health")
        assert pool.stdout.split() == ["tank", "ONLINE"]
        assert stormpool("exec", "client1", "--", "sh", "-c", "exit 7").returncode == 7
        assert stormpool("exec", "client9", "true").returncode == 64
        assert "election won" in stormpool("logs", "server1").stdout
    finally:
        down = stormpool("down")
    assert down.returncode == 0, down.stderr
    assert host.left() == set()
    assert stormpool("status").stdout == "no lab is up\n"


def test_down_all_undoes_a_lab_whose_keeper_was_killed(
    stormpool: CommandLine, host: Host, tmp_path: object
) -> None:
    lab = json.loads(stormpool("up", "--no-csi", "--out", str(tmp_path), "--json").stdout)
    assert stormpool("exec", "client1", "--", "true").returncode == 0
    os.kill(lab["harness"][0], signal.SIGKILL)
    assert stormpool("down", "--all").returncode == 0
    assert host.left() == set()
