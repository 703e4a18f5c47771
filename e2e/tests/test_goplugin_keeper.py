"""What keeps a driver without an agent has none that is not configured."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from stormpool.alone.keeper import Keeper
from stormpool.goplugin.process import LocalProcess, Started

PLUGIN = [sys.executable, str(Path(__file__).with_name("sample_device.py"))]


def test_a_plugin_that_takes_no_configuration_is_killed_and_not_kept() -> None:
    launched: list[LocalProcess] = []
    with ExitStack() as until_the_end:

        def launch() -> Started:
            launched.append(until_the_end.enter_context(LocalProcess(PLUGIN)))
            return launched[-1]

        keeper = Keeper(launch, {"count": -1})
        for _ in range(2):
            with pytest.raises(grpc.RpcError, match="a negative number of disks"):
                assert keeper.driver
        assert [each.process.alive() for each in launched] == [False, False]
