"""A task that is restarted has the devices that it was given, also when its agent was restarted before.

All versions forget what Reserve had answered when the agent is restarted, and do not ask again: the task's
next life has the device in its environment, and not its mounts (nomad issue 9473, open).
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import dataset, driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs(), dataset.device(design="watching")])
KIND = Kind(devices=({"Name": "zfs/dataset/tank", "Count": 1},), place="/dataset")
EXECUTOR_KILLED = faults.KillExecutor(job="task1")


def test_a_task_keeps_its_devices(cluster: Cluster) -> None:
    """Its executor is killed; it is started anew in its allocation."""
    history = cluster.run(
        workloads.tasks(1, KIND, goes_on=6, timeout=20), nemesis.at(1.5, EXECUTOR_KILLED), settle=10
    )
    history.must_satisfy(guarantees.one_task_a_device, guarantees.dataset_lives_as_long)


def test_a_task_keeps_its_devices_after_its_agent_was_restarted(cluster: Cluster) -> None:
    """The same, with an agent that was restarted before."""
    plan = nemesis.at(1.0, faults.RestartAgent(target.node("client1"))) + nemesis.at(6.0, EXECUTOR_KILLED)
    history = cluster.run(workloads.tasks(1, KIND, goes_on=12, timeout=20), plan, settle=10)
    history.must_satisfy(guarantees.one_task_a_device, guarantees.dataset_lives_as_long)
