"""Who can write to a volume, read from what a process sees mounted; and when that is told."""

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from stormpool.observe import on_node, zfs
from stormpool.observe.on_node import asked_mounts, contained_writes, mounts_in, root_of, zfs_mounts

NODE = """\
301 300 0:60 / / rw,relatime shared:1 - tmpfs root rw
302 301 0:61 / /usr rw shared:2 - overlay overlay rw
310 301 0:70 / /volumes/vol1 rw shared:9 - fuse.zfs vol1 rw
311 301 0:70 / /nomad/client/csi/monolith/zfs/per-alloc/a/vol1/rw rw shared:9 - fuse.zfs vol1 rw
"""
TASK = """\
401 400 0:80 / / rw - tmpfs root rw
402 401 0:70 / /vol {mode},relatime master:9 - fuse.zfs vol1 rw
"""
SETTING_UP = (
    TASK.format(mode="rw")
    + """\
403 401 0:60 / /old rw master:1 - tmpfs root rw
404 403 0:71 / /old/volumes/vol2 rw master:10 - fuse.zfs vol2 rw
"""
)


@pytest.mark.parametrize(
    ("mountinfo", "writes"),
    [
        (TASK.format(mode="rw"), ["vol1"]),
        (TASK.format(mode="ro"), []),
        (NODE, []),
        (SETTING_UP, []),
    ],
    ids=["a task", "a task that only reads", "a copy of all the node has", "a container being set up"],
)
def test_who_can_write(mountinfo: str, writes: list[str]) -> None:
    assert contained_writes(mounts_in(mountinfo), root_of(mounts_in(NODE))) == writes


def test_a_process_that_was_forked_a_moment_ago_is_about_to_be_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forks = "import os, sys; os.fork(); os.write(1, b'%d\\n' % os.getpid()); sys.stdin.read()"
    python = [sys.executable, "-c", forks]
    with subprocess.Popen(python, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        both = {int(parent.stdout.readline()), int(parent.stdout.readline())}
        for moment, told in ((60.0, {parent.pid}), (0.0, both)):
            monkeypatch.setattr(on_node, "MOMENT", moment)
            assert both & {seen["pid"] for seen in on_node.processes()} == told
        parent.communicate()


def test_what_an_agent_asked_for_is_told_whatever_its_file_system() -> None:
    staged = "/nomad/client/csi/node/hostpath/staging/default/vol9/rw"
    mounts = mounts_in(NODE + f"312 301 8:1 /data {staged} ro shared:9 - ext4 /dev/sda1 rw\n")
    assert ("/dev/sda1", staged, False) not in zfs_mounts(mounts)
    assert asked_mounts(mounts) == [
        ("vol1", "/nomad/client/csi/monolith/zfs/per-alloc/a/vol1/rw", True),
        ("/dev/sda1", staged, False),
    ]


@pytest.mark.parametrize("writes", [["vol1"], []], ids=["a task goes on", "nobody writes"])
def test_what_goes_on_is_told_again_every_second(monkeypatch: pytest.MonkeyPatch, writes: list[str]) -> None:
    looks = 26  # five a second
    clock: Iterator[int] = iter(range(0, 10**12, 10**9 // 5))
    closed: Iterator[list[bool]] = iter([[]] * (looks - 1) + [[True]])
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(on_node, "processes", lambda: [{"alloc": "a", "writes": writes}])
    monkeypatch.setattr(on_node, "_tell", told.append)
    monkeypatch.setattr(on_node, "time", SimpleNamespace(monotonic_ns=lambda: next(clock)))
    monkeypatch.setattr(on_node, "select", SimpleNamespace(select=lambda *_: (next(closed), [], [])))
    on_node.watch(0.2)
    assert [seen["at"] / 1e9 for seen in told[:-1]] == ([0, 1, 2, 3, 4, 5] if writes else [0])
    assert told[-1]["processes"] == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"tank": 1}, {"pools": ["tank"], "datasets": ["tank"]}),
        (None, {"silent": True}),
    ],
)
def test_zfs_that_says_nothing_is_not_taken_for_empty(
    monkeypatch: pytest.MonkeyPatch, said: dict[str, int] | None, told: dict[str, object]
) -> None:
    monkeypatch.setattr(zfs, "pools", lambda in_kernel: said and list(said))
    monkeypatch.setattr(zfs, "file_systems", lambda in_kernel: said)
    seen = on_node.everything(in_kernel=True)
    assert {name: seen[name] for name in ("pools", "datasets", "silent") if name in seen} == told
