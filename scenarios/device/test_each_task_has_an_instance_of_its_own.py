"""Tasks that ask for device instances are given just those, each its own, with a dataset behind it.

Nomad 1.6.1 and before give any instance to a job that names one by a constraint on `${device.ids}` (issue
18141); later versions give a second task that names a taken instance none at all, and start it (18364, open).
"""

from stormpool import guarantees, workloads
from stormpool.cluster import Cluster
from stormpool.events import Operation
from stormpool.lab import Lab
from stormpool.plugins import dataset, driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs(), dataset.device(design="watching", instances=8)])
DATASET = {"Name": "zfs/dataset/tank", "Count": 1}
THE_SEVENTH = {
    **DATASET,
    "Constraints": [{"LTarget": "${device.ids}", "RTarget": "ds7", "Operand": "set_contains"}],
}


def test_each_task_has_an_instance_of_its_own(cluster: Cluster) -> None:
    """Four tasks, eight instances."""
    kind = Kind(devices=(DATASET,), place="/dataset")
    history = cluster.run(workloads.tasks(4, kind, goes_on=3, timeout=20), settle=20)
    history.must_satisfy(
        guarantees.one_task_a_device,
        guarantees.dataset_lives_as_long,
        guarantees.no_orphaned_executor,
        guarantees.nothing_left_behind,
        guarantees.progress,
    )


def test_a_task_waits_for_an_instance(cluster: Cluster) -> None:
    """Twelve tasks, eight instances: those that find none run once others have ended."""
    kind = Kind(devices=(DATASET,), place="/dataset", seconds=2, lasting=False)
    history = cluster.run(workloads.tasks(12, kind, timeout=30), settle=20)
    assert [done.error for done in history.of(Operation)] == [""] * 12
    history.must_satisfy(
        guarantees.one_task_a_device,
        guarantees.exit_status,
        guarantees.nothing_left_behind,
        guarantees.progress,
    )


def test_a_job_is_given_the_instance_it_names(cluster: Cluster) -> None:
    """The seventh of eight, three times."""
    kind = Kind(devices=(THE_SEVENTH,), place="/dataset")
    for turn in (1, 2):
        cluster.run(workloads.tasks(1, named(kind, turn), goes_on=1, timeout=20), settle=20)
    history = cluster.run(workloads.tasks(1, named(kind, 3), goes_on=1, timeout=20), settle=20)
    history.must_satisfy(guarantees.device_constraints, guarantees.one_task_a_device)


def test_an_instance_that_is_taken_is_given_to_nobody_else(cluster: Cluster) -> None:
    """Two tasks name the same: one of them must wait."""
    kind = Kind(devices=(THE_SEVENTH,), place="/dataset", lasting=False)
    history = cluster.run(workloads.tasks(2, kind, goes_on=3, timeout=8), settle=20)
    history.must_satisfy(guarantees.one_task_a_device, guarantees.device_constraints)


def named(kind: Kind, turn: int) -> Kind:
    """The same with jobs of another name."""
    return Kind(devices=kind.devices, place=kind.place, name=f"turn{turn}-")
