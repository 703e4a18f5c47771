"""A task is to be stopped, and the connection to its driver breaks before the driver hears of it.

The agent cannot learn how the task ends, which it has killed then. It tells of exit code 0, with the error as
the message of that end.
"""

from stormpool import faults, guarantees, nemesis, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()])


def test_a_connection_is_cut_while_a_task_is_stopped(cluster: Cluster) -> None:
    """Nothing is left of the task, and it is not told of as one that did what it was to do."""
    writes = Kind(config={"dataset": {"use": "work"}}, place="/work")
    cut = nemesis.on(rpc("StopTask", plugin=driver.NAME).nth(1).before, faults.CutConnection())
    history = cluster.run(workloads.tasks(1, writes, goes_on=2, timeout=20), cut, settle=15)
    history.must_satisfy(*guarantees.DRIVERS)
