"""A device plugin that dies while a task is placed, that cannot be started again, or whose fingerprint fails.

An agent starts a plugin that has died again, once. Where that fails it gives the plugin up, and yet goes on
telling of its devices: all versions place tasks that ask for one on a node that can give none.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.events import DeviceView
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import dataset, driver
from stormpool.workloads import Kind

DEVICE = dataset.device(design="watching")
LAB = Lab(servers=1, clients=1, plugins=[driver.zfs(), DEVICE], heartbeat_grace=20)
CLIENT = target.node("client1")
KILLED = faults.KillPlugin(CLIENT, plugin=DEVICE.id)
RESERVED = rpc("Reserve").nth(1)
AWAY = 17.0  # seconds: longer than the servers may take to learn of it
INTERNAL = 13  # gRPC status
WAITS = workloads.tasks(1, Kind(driver="raw_exec", name="waits"), goes_on=AWAY, timeout=20)
ASKS = Kind(devices=({"Name": "zfs/dataset/tank", "Count": 1},), place="/dataset")


def test_a_device_plugin_dies_while_it_reserves(cluster: Cluster) -> None:
    """It has the call, and dies with it."""
    placed(cluster, nemesis.on(RESERVED.during, KILLED))


def test_a_device_plugin_dies_before_it_tells_of_a_reservation(cluster: Cluster) -> None:
    """The dataset is made, and the connection breaks before the agent hears of it."""
    placed(
        cluster, nemesis.on(RESERVED.answered, KILLED) + nemesis.on(RESERVED.answered, faults.CutConnection())
    )


def placed(cluster: Cluster, plan: Plan) -> None:
    """The task must run in the end, with a dataset; and none may stay, whoever heard of it."""
    (client,) = cluster.clients()
    history = cluster.run(workloads.tasks(1, ASKS, goes_on=3, timeout=30), plan, settle=20)
    history.must_satisfy(
        guarantees.every_job_runs,
        guarantees.one_task_a_device,
        guarantees.dataset_lives_as_long,
        guarantees.nothing_left_behind,
        guarantees.progress,
    )
    left = client.run(["zfs", "list", "-H", "-o", "name", "-r", "tank/devices"]).stdout.split()
    assert left == ["tank/devices"]


def test_a_device_plugin_cannot_be_started_again(cluster: Cluster) -> None:
    """Nobody uses its devices meanwhile; the servers must hold none of them for healthy."""
    broken = nemesis.at(0.5, faults.BreakPlugin(DEVICE.id, CLIENT), heal_after=AWAY)
    history = cluster.run(WAITS, broken, settle=10)
    history.must_satisfy(guarantees.device_news)


def test_a_fingerprint_fails(cluster: Cluster) -> None:
    """The node has no devices then, until its agent is started anew; a task that asks for one gets it."""
    again = nemesis.at(0.5, faults.RestartAgent(CLIENT))
    failed = nemesis.on(
        rpc("Fingerprint", plugin=DEVICE.id).nth(1).answered,
        faults.FailCall(INTERNAL, "no pool can be looked at"),
    )
    history = cluster.run(WAITS, again + failed, settle=10)
    assert not history.of(DeviceView)[-1].any_healthy
    history = cluster.run(workloads.tasks(1, ASKS, goes_on=1, timeout=30), again, settle=20)
    history.must_satisfy(guarantees.every_job_runs, guarantees.one_task_a_device)
