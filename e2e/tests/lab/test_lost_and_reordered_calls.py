"""Calls that the plugin never gets, or gets in another order: by what the taps saw."""

from pathlib import Path

import pytest

from stormpool import faults, nemesis, target, workloads
from stormpool.errors import Unavailable
from stormpool.events import SECOND, Fault, Reply
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import csi
from stormpool.runner import Asked, running

pytestmark = pytest.mark.lab

STAGE, PUBLISH = "NodeStageVolume", "NodePublishVolume"


def test_lost_and_reordered_calls(tmp_path: Path) -> None:
    plan = faults.reorder_calls(rpc(STAGE)) + nemesis.on(
        rpc(PUBLISH, volume="vol3").before, faults.DropRequest(), heal_after=1.0
    )
    lab = Lab(servers=1, clients=1, plugins=[csi.zfs()])
    with running(Asked(lab=lab, scenario="calls", out=tmp_path, seed=1)) as cluster:
        volumes = cluster.create_volumes(3)
        history = cluster.run(workloads.attach_detach(volumes, per_volume=1, timeout=40), plan, settle=30)
        with pytest.raises(Unavailable, match="set one node's wall clock"):
            cluster.run(nemesis.at(0, faults.SkewClock(target.node("client1"), 60)))
    steps = [(event.id, event.step) for event in history.of(Fault)]
    assert sorted(steps) == [
        (number, step) for number in (0, 1) for step in ("healed", "injected", "planned")
    ]

    staged = sorted(
        (each for each in history.rpcs() if each.call.method == STAGE), key=lambda each: each.call.t
    )
    first, second = staged[:2]
    assert isinstance(second.end, Reply)
    assert first.call.t < second.call.t < second.end.t < first.call.sent
    assert first.ok
    assert second.ok

    lost = next(each for each in history.rpcs() if each.call.method == PUBLISH and each.call.volume == "vol3")
    assert lost.call.sent == 0
    assert not isinstance(lost.end, Reply)
    assert lost.end is not None
    assert lost.end.t - lost.call.t >= SECOND
