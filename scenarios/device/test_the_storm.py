"""Five ways for a task to get a ZFS dataset, under ten events: what is leaked, what is lost, and how fast.

In each run a consumer of every way goes through the same event on the same node. What every way promises is
judged here; in what they differ is counted: `stormpool leaks RUN...` puts it into a table (docs/devices.md).
"""

from msgspec import structs

from stormpool import faults, guarantees, nemesis, target
from stormpool.cluster import Cluster
from stormpool.events import AllocView
from stormpool.history import History
from stormpool.lab import API_DOOR, Lab, Plugin
from stormpool.nemesis import OnCall, Plan, rpc
from stormpool.plugins import csi, dataset, driver
from stormpool.workloads import Storm, storm
from stormpool.workloads.dataset_designs import DESIGNS, GROUPS

VOLUMES = csi.zfs(kind="dataset")
PLUGINS: tuple[Plugin, ...] = (
    driver.zfs(dataset="tank/work"),
    dataset.driver(),
    dataset.device(id="plain", **GROUPS["plain"]),
    dataset.device(id="watching", design="watching", address=f"unix://{API_DOOR}", **GROUPS["watching"]),
    structs.replace(VOLUMES, parameters={**VOLUMES.parameters, "node": "client1"}),
)
# An agent that starts has four plugins to start three times each: the servers wait for it.
LAB = Lab(servers=1, clients=2, plugins=PLUGINS, heartbeat_grace=20.0)
LABS = {
    "test_a_node_is_lost_and_returns": structs.replace(LAB, heartbeat_grace=3.0),
    "test_the_leader_changes": structs.replace(LAB, servers=3),
}
CLIENT = target.node("client1")
EVERY = len(DESIGNS)
SETTLE = 12.0  # seconds; under 3 as seen where nothing is left


def running(seconds: float = 1.0) -> OnCall:
    """So long after the last consumer was started."""
    started = rpc("StartTask", plugin=driver.NAME).nth(EVERY).answered
    return structs.replace(started, later=seconds)


def stormed(cluster: Cluster, consumers: Storm, *plans: Plan) -> History:
    """Send consumers through what is planned, and judge what every way promises."""
    history = cluster.run(consumers, *plans, settle=SETTLE)
    history.must_satisfy(
        guarantees.every_job_runs,
        guarantees.nothing_left_behind,
        guarantees.no_orphaned_executor,
        guarantees.one_plugin_process,
        guarantees.dataset_lives_as_long,
        guarantees.progress,
    )
    return history


def test_a_task_is_stopped(cluster: Cluster) -> None:
    """Nothing happens but that."""
    stormed(cluster, storm(seconds=1.0))


def test_a_task_fails(cluster: Cluster) -> None:
    """One is restarted where it was, one has failed for good."""
    stormed(cluster, storm(fates=("fails-once", "fails-for-good"), seconds=4.0))


def test_a_client_is_killed(cluster: Cluster) -> None:
    """Its agent is back before anybody misses it."""
    stormed(cluster, storm(seconds=2.0), nemesis.on(running(), faults.KillAgent(CLIENT), heal_after=0.1))


def test_an_agent_is_restarted(cluster: Cluster) -> None:
    """As when its service is."""
    stormed(cluster, storm(seconds=4.5), nemesis.on(running(), faults.RestartAgent(CLIENT)))


def test_plugins_are_killed(cluster: Cluster) -> None:
    """Each of them, one after another."""
    kills = [
        nemesis.on(running(1 + 0.5 * number), faults.KillPlugin(CLIENT, plugin=plugin.id))
        for number, plugin in enumerate(PLUGINS)
    ]
    stormed(cluster, storm(seconds=4.5), *kills)


def test_a_node_is_drained(cluster: Cluster) -> None:
    """Its allocations move to the other node; but for the volume's, which can run nowhere else.

    System jobs stay, as by `nomad node drain -ignore-system`: with them would go the volume's plugin, and
    whether a task that is placed before its plugin is back is ever placed again is another story.
    """
    stormed(
        cluster,
        storm(seconds=5.5),
        nemesis.on(running(), faults.DrainNode(CLIENT, ignore_system_jobs=True), heal_after=4.0),
    )


def test_a_node_is_lost_and_returns(cluster: Cluster) -> None:
    """The servers give it up; when it is back, what ran on it runs elsewhere.

    The task that is to destroy what another made as root is then started without the directory it runs in,
    and fails (Nomad 1.6.1), or is not started (1.10.5): that dataset stays.
    """
    stormed(
        cluster,
        storm(seconds=2.0, may_leave=["tasks"]),
        nemesis.on(running(), faults.CrashNode(CLIENT), heal_after=9.0),
    )


def test_the_leader_changes(cluster: Cluster) -> None:
    """The one that leads is killed as tasks are stopped."""
    stopped = rpc("StopTask", plugin=driver.NAME).nth(1).before
    stormed(
        cluster, storm(seconds=1.0), nemesis.on(stopped, faults.KillAgent(target.leader()), heal_after=4.0)
    )


def test_garbage_is_collected(cluster: Cluster) -> None:
    """The servers forget allocations as soon as they are over: clients tell of it some 0.3 s later."""
    stopped = rpc("StopTask", plugin=driver.NAME)
    collections = [
        nemesis.on(structs.replace(stopped.nth(number).answered, later=later), faults.CollectGarbage())
        for number in range(1, EVERY + 1)
        for later in (0.4, 0.8, 1.4)
    ]
    history = stormed(cluster, storm(seconds=1.0, lingers=2.0), *collections)
    forgotten = {view.alloc.job for view in history.of(AllocView) if view.forgotten}
    assert {design.jobs + "goes-on" for design in DESIGNS.values()} <= forgotten


def test_the_api_cannot_be_reached(cluster: Cluster) -> None:
    """By the plugin that watches it, before and while its tasks are stopped."""
    stormed(cluster, storm(seconds=1.0), nemesis.on(running(0.5), faults.CutApi(CLIENT)))
