"""Every guarantee of devices turns red on a plugin with a fault built in, and names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.lab import Lab
from stormpool.nemesis import Plan
from stormpool.plugins import dataset, driver
from stormpool.runner import Asked, running
from stormpool.verdict import Guarantee, Outcome
from stormpool.workloads import Kind, Workload

pytestmark = pytest.mark.lab

DATASET = {"Name": "zfs/dataset/tank", "Count": 1}
TWO = workloads.tasks(2, Kind(devices=(DATASET,), place="/dataset", lasting=False), goes_on=3, timeout=8)
WAITS = workloads.tasks(1, Kind(driver="raw_exec"), goes_on=33, timeout=8)
LOST = nemesis.at(0.2, faults.ExportPool(target.node("client1")), heal_after=16.0)


@dataclass(frozen=True)
class Case:
    """A mutant, what shows it, and what must catch it, with words that a witness must have."""

    mutant: str
    caught_by: Guarantee
    words: str
    workload: Workload = TWO
    plan: Plan = field(default_factory=Plan)
    design: str = "watching"
    nightly: bool = False  # its guarantee is turned red by another, too


CASES = [
    Case("same_dataset", guarantees.one_task_a_device, "both used ds", design="plain"),
    Case("never", guarantees.dataset_lives_as_long, "that nobody has, was left"),
    Case("always_healthy", guarantees.device_news, "gone or ill since", WAITS, LOST),
    Case("forgets_back", guarantees.device_news, "are healthy since", WAITS, LOST, nightly=True),
]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.mutant, marks=[pytest.mark.nightly] * case.nightly) for case in CASES],
)
def test_a_mutant_is_caught(case: Case, tmp_path: Path) -> None:
    plugins = [driver.zfs(), dataset.device(design=case.design, mutant=case.mutant)]
    asked = Asked(lab=Lab(plugins=plugins), scenario=f"mutant {case.mutant}", out=tmp_path, seed=1)
    with running(asked) as cluster:
        history = cluster.run(case.workload, case.plan, settle=4)
    verdict = case.caught_by(history)
    assert verdict.outcome is Outcome.INVALID, verdict
    assert any(case.words in witness.what for witness in verdict.witnesses), verdict
