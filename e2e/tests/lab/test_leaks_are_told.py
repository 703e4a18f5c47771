"""What counts the leaks of designs tells a plugin with a fault built in from one without.

Two labs with the same consumers; in each every plugin but the driver that runs them has a fault, and the
tasks that make their datasets as root have none: of those nothing may be told.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stormpool import faults, nemesis, target, workloads
from stormpool.history import History
from stormpool.lab import API_DOOR, Lab, Plugin
from stormpool.leaks import Row, tally
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import dataset, driver
from stormpool.runner import Asked, running
from stormpool.workloads.dataset_designs import DESIGNS, GROUPS

pytestmark = pytest.mark.lab

CLIENT = target.node("client1")
WITHOUT_CSI = tuple(name for name in DESIGNS if name != "csi")


def lab(plain: str, watching: str, exposing: str, instances: int = 1) -> Lab:
    """A lab of one client with these faults built in."""
    door = f"unix://{API_DOOR}"
    plugins: tuple[Plugin, ...] = (
        driver.zfs(dataset="tank/work"),
        dataset.driver(mutant=exposing),
        dataset.device(id="plain", mutant=plain, instances=instances, **GROUPS["plain"]),
        dataset.device(id="watching", design="watching", mutant=watching, address=door, **GROUPS["watching"]),
    )
    return Lab(plugins=plugins, heartbeat_grace=20.0)


def storm(
    lab: Lab,
    out: Path,
    *plans: Plan,
    turns: int = 1,
    designs: tuple[str, ...] = WITHOUT_CSI,
    fates: tuple[str, ...] = ("goes-on",),
) -> History:
    """Consumers on a lab, one turn after another."""
    seconds = 1.0 if fates == ("goes-on",) else 4.0  # what fails does so within that
    consumers = workloads.storm(*designs, fates=fates, seconds=seconds, timeout=15)
    with running(Asked(lab=lab, scenario="mutants", out=out, seed=1)) as cluster:
        for _ in range(turns):
            history: History = cluster.run(consumers, *plans, settle=3.0)
    return history


def rows(history: History) -> dict[str, Row]:
    """The rows, each by the word that scenarios call its design by."""
    words = {design.name: word for word, design in DESIGNS.items()}
    return {words[row.design]: row for row in tally(history)}


def well(row: Row) -> None:
    """Nothing is told of a design without a fault, and all its datasets were collected."""
    assert [*row.leaked, *row.kept, *row.lost, *row.data_lost, *row.strangers] == []
    assert len(row.collected) == row.allocations == row.datasets


def test_what_stays_is_told(tmp_path: Path) -> None:
    history = storm(lab("reuses", "never", "leaky_stop", instances=1), tmp_path, turns=2)
    found = rows(history)
    well(found["tasks"])
    assert len(found["watching"].leaked) == len(found["driver"].leaked) == 2
    assert found["watching"].collected == found["driver"].collected == []
    (seen,) = found["plain"].strangers
    assert "found by allocation" in seen
    assert len(found["plain"].leaked) == 1


def test_what_goes_too_soon_is_told(tmp_path: Path) -> None:
    failed = rpc("WaitTask", plugin=driver.NAME).nth(1).answered  # its dataset is nobody's for a second
    cut = nemesis.on(failed, faults.CutApi(CLIENT))
    history = storm(lab("", "eager", ""), tmp_path, cut, designs=("watching",), fates=("fails-once",))
    (row,) = tally(history)
    assert row.lost
    assert row.data_lost


def test_a_stranger_is_told(tmp_path: Path) -> None:
    history = storm(lab("same_dataset", "", "", instances=2), tmp_path, fates=("goes-on", "fails-once"))
    found = rows(history)
    for each in ("tasks", "driver", "watching"):
        well(found[each])
    assert found["plain"].strangers
