"""A task that is restarted has the devices that it was given, also when its agent was restarted before.

All versions forget what Reserve had answered when the agent is restarted, and do not ask again: the task's
next life has the device in its environment, and not its mounts (nomad issue 9473, open).
"""

from msgspec.structs import replace

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.nemesis import rpc
from stormpool.plugins import dataset, driver
from stormpool.workloads import Kind

LAB = Lab(
    servers=1,
    clients=1,
    plugins=[driver.zfs(), dataset.device(design="watching")],
    heartbeat_grace=20,
)
KIND = Kind(devices=({"Name": "zfs/dataset/tank", "Count": 1},), place="/dataset")
EXECUTOR_KILLED = faults.KillExecutor(job="task1")
JUDGED = (guarantees.one_task_a_device, guarantees.dataset_lives_as_long)


def test_a_task_keeps_its_devices(cluster: Cluster) -> None:
    """Its executor is killed; it is started anew in its allocation."""
    history = cluster.run(
        workloads.tasks(1, KIND, goes_on=6, timeout=20), nemesis.at(1.5, EXECUTOR_KILLED), settle=15
    )
    history.must_satisfy(*JUDGED)


def test_a_task_keeps_its_devices_after_its_agent_was_restarted(cluster: Cluster) -> None:
    """The same, a second after an agent that was killed has found its task again."""
    found = replace(rpc("RecoverTask").nth(1).answered, later=1.0)
    killed = nemesis.at(1.0, faults.KillAgent(target.node("client1")), heal_after=0.1)
    history = cluster.run(
        workloads.tasks(1, KIND, goes_on=14, timeout=20),
        killed + nemesis.on(found, EXECUTOR_KILLED),
        settle=15,
    )
    history.must_satisfy(*JUDGED)
