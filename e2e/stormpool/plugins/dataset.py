"""The reference plugins that hand datasets to tasks without CSI, as labs run them."""

from __future__ import annotations

import sys
from typing import Any

from stormpool.lab import ExternalPlugin, PluginKind
from stormpool.programs import fixture_environment

DISKS = "/lab/disk/vdevs"  # where a lab's nodes have their pools' disks


def device(
    *, design: str = "plain", mutant: str = "", id: str = "zfs_device", **config: Any
) -> ExternalPlugin:
    """The device plugin (`fixtures/zfs_device`).

    `design`: plain or watching. `mutant`: a fault to build in (see `zfs_device.mutants`). `id`: two of them
    in a lab must differ in it. `config`: as `zfs_device.plugin.Config` has it.
    """
    argv = ("-m", "zfs_device", "--node={node}", "--pool=tank", f"--design={design}")
    return ExternalPlugin(
        id=id,
        kind=PluginKind.DEVICE,
        argv=(sys.executable, *argv),
        env={**fixture_environment(), "ZFS_DEVICE_MUTANT": mutant},
        config={"disks": DISKS, **config},
    )


def driver(*, mutant: str = "") -> ExternalPlugin:
    """The task driver whose tasks are datasets (`fixtures/zfs_dataset_driver`).

    `mutant`: a fault to build in (see `zfs_dataset_driver.mutants`).
    """
    return ExternalPlugin(
        id="zfs_dataset",
        kind=PluginKind.DRIVER,
        argv=(sys.executable, "-m", "zfs_dataset_driver", "--pool=tank"),
        env={**fixture_environment(), "ZFS_DATASET_DRIVER_MUTANT": mutant},
        config={"disks": DISKS},
    )
