"""Disks of the reference cloud over the network: nowhere but where they are attached."""

import importlib
from pathlib import Path

import pytest

from stormpool.programs import FIXTURES


def test_a_node_could_connect_to_any_disk_and_does_to_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FIXTURES))
    zfs, of_cloud, of_disks = map(importlib.import_module, ("zfs", "zfs_csi.cloud", "zfs_csi.disks"))
    cloud = of_cloud.Cloud(tmp_path, 0.0)
    cloud.make_disk("vol1", 1 << 20)
    cloud.finish_disk("vol1")
    cloud.attach("vol1", "client2")
    disks = of_disks.NetworkDisks(cloud, "http://127.0.0.1:1")
    with pytest.raises(zfs.CommandError, match="vol1 is not attached to client1"):
        disks.attached("vol1", "client1")
