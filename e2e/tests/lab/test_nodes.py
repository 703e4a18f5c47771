"""What a node sees of the host: everything at its own path, and nothing of what the node writes goes back."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness import Host

pytestmark = pytest.mark.lab

LOOK = """
import sys
from pathlib import Path
from stormpool.lab import Lab
from stormpool.node import Bringing
from stormpool.providers.netns import Netns

run, shown = map(Path, sys.argv[1:])
nodes = Netns().up(Lab(servers=1, clients=0), Bringing("0badcafe", run))
try:
    node = nodes.nodes["server1"]
    for path in (shown / "plain", shown / "mounted" / "file", shown / "mounted" / "deeper" / "file"):
        print(node.read(str(path)).strip())
        print(node.run(["sh", "-c", f"echo written by the node >{path}"], check=False).code == 0)
finally:
    nodes.down()
"""
MOUNTS = """
set -e
for directory in "$1/mounted" "$1/mounted/deeper"; do
    mkdir "$directory"
    mount -t tmpfs test "$directory"
    echo "$directory" >"$directory/file"
done
shift
"$@"
cat "$4/mounted/file" "$4/mounted/deeper/file"
"""


def test_what_is_mounted_on_the_host_is_seen_and_not_written(tmp_path: Path, host: Host) -> None:
    run, shown, script = tmp_path / "run", tmp_path / "shown", tmp_path / "look.py"
    run.mkdir()
    shown.mkdir()
    (shown / "plain").write_text("plain\n")
    script.write_text(LOOK)
    look = [sys.executable, str(script), str(run), str(shown)]
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, "sh", str(shown), *look],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    mounted, deeper = f"{shown}/mounted", f"{shown}/mounted/deeper"
    assert done.stdout.splitlines() == [
        *("plain", "True", mounted, "False", deeper, "False"),
        *(mounted, deeper),  # as they still are on the host
    ]
    assert (shown / "plain").read_text() == "plain\n"
    assert host.left() == set()
