"""Mounts have somebody who uses them, and something below them."""

from collections.abc import Iterable

import pytest

from stormpool.audit import mounts
from stormpool.audit.look import Look
from stormpool.audit.node import Node


def test_every_mount_has_its_allocation(node: Node) -> None:
    """Nothing is mounted for an allocation that is no more, and no volume staged for none.

    Nomad issues 15415 and 13301; CSI specification, NodeUnpublishVolume and NodeUnstageVolume.
    """
    mend = (
        "see who keeps it busy with `fuser -vm`, then umount it; the volume's claim may have to be detached"
    )
    node.must_show_none(mounts.of_nobody, mend=mend)


def test_every_zfs_mount_has_its_dataset(node: Node) -> None:
    """No ZFS file system is mounted that is in no imported pool: whoever uses it waits, or fails.

    zfs-mount(8); a zfs-fuse daemon that has died leaves such mounts.
    """
    if not node.now.has_zfs and not any(mount.is_zfs for mount in node.now.mounts):
        pytest.skip(f"{node} has no ZFS")

    def judge(look: Look) -> Iterable[str]:
        return mounts.without_dataset(look, {dataset.name for dataset in node.datasets(look)})

    node.must_show_none(judge, mend="import the pool again with `zpool import`, or `umount -l` what is left")


def test_nothing_is_mounted_twice(node: Node) -> None:
    """No two file systems are mounted over one another for agents, plugins or ZFS.

    CSI specification, NodePublishVolume must be idempotent: a plugin where it is not mounts at each try.
    """
    node.must_show_none(
        mounts.stacked, mend="umount as often as it is mounted, and make the plugin look first"
    )
