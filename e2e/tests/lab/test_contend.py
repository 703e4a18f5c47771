"""Clients that contend for volumes on real agents: their claims are linearizable, and some had to wait."""

from pathlib import Path

import pytest

from stormpool import guarantees, workloads
from stormpool.events import Operation
from stormpool.lab import Lab
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.verdict import Outcome

pytestmark = pytest.mark.lab


def test_contended_claims_are_linearizable(tmp_path: Path) -> None:
    lab = Lab(servers=3, clients=3, plugins=[csi.zfs()])
    with running(Asked(lab=lab, scenario="contend", out=tmp_path, seed=1)) as cluster:
        volumes = cluster.create_volumes(2)
        history = cluster.run(workloads.contend(volumes, clients=3, rounds=2))
    verdict = guarantees.claims_are_linearizable(history)
    assert verdict.outcome is Outcome.VALID, verdict
    done = history.of(Operation)
    assert {event.subject for event in done} == set(volumes)
    assert {event.alloc for event in done if event.name == "detach"} == {
        event.alloc for event in done if event.name == "attach" and event.alloc
    }
    assert any(event.held for event in done if event.name == "read")
    assert any(event.error for event in done if event.name == "attach")
