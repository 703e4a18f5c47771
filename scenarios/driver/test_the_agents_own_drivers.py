"""The drivers that agents bring with them, by the same measure as others.

Nomad 1.9.0 and before leave an executor where `exec` refuses a capability (issue 24495), and tell of a task
whose executor was killed that it ended with 0 (25453); 1.10.5 does neither. Of all versions `raw_exec` starts
a second task beside the first where the executor of that was killed (24219, open).
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1)
EXECUTOR_KILLED = nemesis.at(1.5, faults.KillExecutor(job="task1"))


def test_a_task_does_not_outlive_its_executor(cluster: Cluster) -> None:
    """It is started anew, and must never run twice."""
    history = cluster.run(
        workloads.tasks(1, Kind(driver="raw_exec"), goes_on=5, timeout=8), EXECUTOR_KILLED, settle=10
    )
    history.must_satisfy(guarantees.no_orphaned_executor)


def test_a_task_whose_executor_is_killed_has_not_succeeded(cluster: Cluster) -> None:
    """It is not started anew, so that there is one end to tell of."""
    kind = Kind(driver="raw_exec", lasting=False)
    history = cluster.run(workloads.tasks(1, kind, goes_on=4, timeout=8), EXECUTOR_KILLED, settle=10)
    history.must_satisfy(guarantees.exit_status)


def test_a_start_that_is_refused_leaves_no_executor(cluster: Cluster) -> None:
    """The driver may not give what the task asks for."""
    kind = Kind(driver="exec", config={"cap_add": ["sys_admin"]}, lasting=False)
    history = cluster.run(workloads.tasks(1, kind, goes_on=1, timeout=8), settle=10)
    history.must_satisfy(guarantees.no_orphaned_executor)
