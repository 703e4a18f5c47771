"""Task drivers as labs run them."""

from __future__ import annotations

import sys

from msgspec import structs

from stormpool.lab import ExternalPlugin, Lab, PluginKind
from stormpool.programs import fixture_environment

NAME = "zfs_driver"


def zfs(*, mutant: str = "", dataset: str = "tank/tasks") -> ExternalPlugin:
    """The reference driver (`fixtures/zfs_driver`).

    `mutant`: a fault to build in (see `zfs_driver.mutants`). `dataset`: below which tasks' datasets are made.
    """
    return ExternalPlugin(
        id=NAME,
        kind=PluginKind.DRIVER,
        argv=(sys.executable, "-m", "zfs_driver"),
        env={**fixture_environment(), "ZFS_DRIVER_MUTANT": mutant},
        config={"dataset": dataset},
    )


def added_to(lab: Lab) -> Lab:
    """A lab with the reference driver, where it has not got it."""
    if any(each.id == NAME for each in lab.plugins):
        return lab
    return structs.replace(lab, plugins=(*lab.plugins, zfs()))
