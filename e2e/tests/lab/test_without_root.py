"""An ordinary user sees the same: red on Nomad 1.6.0, green on 1.6.1, and leaves nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import GOLDEN, ROOT, Host, command, results, why_not
from stormpool import stubs
from stormpool.programs import cache_home

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="becomes another user, which takes root; run as one, all are it"
    ),
]

ORDINARY = 12345  # a user id that nobody has


def test_the_demonstration_as_an_ordinary_user(tmp_path: Path, host: Host) -> None:
    for name in stubs.SOURCES:
        stubs.ensure(name)
    home = Path(f"/tmp/stormpool-test-{os.getpid()}")  # tmp_path is below a directory only its owner enters
    home.mkdir()
    os.chown(home, ORDINARY, ORDINARY)
    readable = [sys.base_prefix, str(cache_home())]
    become = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        str(Path(__file__).parent / "as_another_user.sh"),
    ]
    run = command(
        "run", GOLDEN, "--nomad", "1.6.0", "--nomad", "1.6.1", "--seed", "7", "--out", home / "runs", "--json"
    )
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "XDG_CACHE_HOME": str(cache_home().parent),
    }
    try:
        done = subprocess.run(
            [*become, str(ORDINARY), *readable, "--", *run],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 1, done.stderr + done.stdout
        red, green = results(done)
        assert (red["versions"]["nomad"], red["outcome"]) == ("1.6.0", "invalid"), why_not(red)
        assert (green["versions"]["nomad"], green["outcome"]) == ("1.6.1", "valid"), why_not(green)
        assert all(Path(each["run"]).stat().st_uid == ORDINARY for each in (red, green))
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)
    assert host.left() == set()
