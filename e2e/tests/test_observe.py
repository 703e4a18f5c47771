"""Who can write to a volume, read from what a process sees mounted."""

import pytest

from stormpool.observe import contained_writes, mounts_in, root_of

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
