"""Every guarantee of drivers turns red on a driver with a fault built in, and names it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import driver
from stormpool.runner import Asked, running
from stormpool.verdict import Guarantee, Outcome
from stormpool.workloads import Kind

pytestmark = pytest.mark.lab

CLIENT = target.node("client1")
WRITES = Kind(config={"dataset": {"use": "work"}}, place="/work")
ONCE = Kind(lasting=False)


# Its start fails when its executor runs it already: at any step before, that may end by itself.
FAILS = Kind(config={"fail_at": "record", "dataset": {"use": "work"}}, lasting=False)


def once_it_runs(seconds: float, fault: faults.Fault) -> Plan:
    """A fault so many seconds after the first task was started: servers know then that it runs."""
    return nemesis.on(replace(rpc("StartTask").nth(1).answered, later=seconds), fault)


PLUGIN_KILLED = once_it_runs(1.5, faults.KillPlugin(CLIENT, plugin=driver.NAME))


STARTED = rpc("StartTask").nth(1).answered
# The plugin dies once it has started a task, and its agent does not hear of it: it asks again.
UNHEARD = nemesis.on(STARTED, faults.KillPlugin(CLIENT, plugin=driver.NAME)) + nemesis.on(
    STARTED, faults.CutConnection()
)


@dataclass(frozen=True)
class Case:
    """A mutant, what shows it, and what must catch it, with words that a witness must have."""

    mutant: str
    caught_by: dict[Guarantee, str]
    kind: Kind = WRITES
    plan: Plan = field(default_factory=Plan)
    count: int = 1
    nightly: bool = False  # its guarantee is turned red by another, too


CASES = [
    Case("forgets_kill", {guarantees.no_orphaned_executor: "which is over, was left"}, FAILS),
    Case(
        "forgets_attempts",
        {guarantees.no_orphaned_executor: "was left"},
        plan=UNHEARD,
        nightly=True,
    ),
    Case(
        "no_reattach",
        {guarantees.recovered_task_is_the_same: "task1", guarantees.no_orphaned_executor: "executors"},
        plan=PLUGIN_KILLED,
    ),
    Case(
        "wrong_pid",
        {guarantees.no_orphaned_executor: "has 1 live tasks and 0 executors"},
        ONCE,
        plan=PLUGIN_KILLED + once_it_runs(3.0, faults.KillExecutor(job="task1")),
        count=2,
        nightly=True,
    ),
    Case(
        "wrong_exit_code",
        {guarantees.exit_status: "ended its life 1 with code 7, and code 0 was told"},
        Kind(seconds=1, code=7, lasting=False),
    ),
    Case(
        "task_outlives_executor",
        {guarantees.no_orphaned_executor: "lives on without an executor"},
        plan=once_it_runs(1.5, faults.KillExecutor(job="task1")),
        nightly=True,
    ),
    Case("keeps_dataset", {guarantees.dataset_lives_as_long: "was left"}),
    Case("second_plugin", {guarantees.one_plugin_process: "2 processes of plugin zfs_driver"}),
]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.mutant, marks=[pytest.mark.nightly] * case.nightly) for case in CASES],
)
def test_a_mutant_is_caught(case: Case, tmp_path: Path) -> None:
    lab = Lab(plugins=[driver.zfs(mutant=case.mutant)])
    asked = Asked(lab=lab, scenario=f"mutant {case.mutant}", out=tmp_path, seed=1)
    with running(asked) as cluster:
        tasks = workloads.tasks(case.count, case.kind, goes_on=5, timeout=8)
        history = cluster.run(tasks, case.plan, settle=4)
    for guarantee, words in case.caught_by.items():
        verdict = guarantee(history)
        assert verdict.outcome is Outcome.INVALID, verdict
        assert any(words in witness.what for witness in verdict.witnesses), verdict
