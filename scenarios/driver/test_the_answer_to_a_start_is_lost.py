"""A task has started, and its agent never hears of it: the call ended without an answer.

All versions take it for failed, and ask nothing more of the driver: the task goes on, with its executor and
its dataset, and belongs to nobody.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])


def test_the_answer_to_a_start_is_lost(cluster: Cluster) -> None:
    """Nothing of the start may be left, if it is taken for failed."""
    kind = Kind(config={"dataset": {"use": "work"}}, place="/work", lasting=False)
    history = cluster.run(
        workloads.tasks(1, kind, goes_on=2, timeout=10),
        nemesis.on(rpc("StartTask").nth(1).answered, faults.LoseAnswer()),
        settle=8,
    )
    history.must_satisfy(
        guarantees.no_orphaned_executor,
        guarantees.dataset_lives_as_long,
        guarantees.nothing_left_behind,
        guarantees.progress,
    )
