"""An agent that is killed and started again goes on with its tasks, whatever else died with it."""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.cluster import Cluster
from stormpool.lab import Lab
from stormpool.plugins import driver
from stormpool.workloads import Kind

LAB = Lab(servers=1, clients=1, plugins=[driver.zfs()], heartbeat_grace=20)
WRITES = Kind(config={"dataset": {"use": "work"}}, place="/work")
CLIENT = target.node("client1")
AGENT = nemesis.at(3.0, faults.KillAgent(CLIENT), heal_after=0.1)
PLUGIN = nemesis.at(3.0, faults.KillPlugin(CLIENT, plugin=driver.NAME))
EXECUTOR = nemesis.at(2.9, faults.KillExecutor(job="task1"))
JUDGED = (*guarantees.DRIVERS, guarantees.every_job_runs)


def test_an_agent_is_killed(cluster: Cluster) -> None:
    """The plugin lives on and is met again: the tasks are the same."""
    history = cluster.run(workloads.tasks(2, WRITES, goes_on=8, timeout=25), AGENT, settle=15)
    history.must_satisfy(*JUDGED, guarantees.recovered_task_is_the_same)


def test_an_agent_is_restarted(cluster: Cluster) -> None:
    """It ends its plugins with itself, and starts them anew: the tasks are the same."""
    restarted = nemesis.at(3.0, faults.RestartAgent(CLIENT))
    history = cluster.run(workloads.tasks(2, WRITES, goes_on=8, timeout=25), restarted, settle=15)
    history.must_satisfy(*JUDGED, guarantees.recovered_task_is_the_same)


def test_an_agent_and_its_plugin_are_killed(cluster: Cluster) -> None:
    """Nobody is left who knew of the tasks but the agent's state: the tasks are the same."""
    history = cluster.run(workloads.tasks(2, WRITES, goes_on=8, timeout=25), AGENT + PLUGIN, settle=15)
    history.must_satisfy(*JUDGED, guarantees.recovered_task_is_the_same)


def test_an_agent_its_plugin_and_an_executor_are_killed(cluster: Cluster) -> None:
    """All three at once: the task whose executor died is started anew, once."""
    history = cluster.run(
        workloads.tasks(2, WRITES, goes_on=10, timeout=25), AGENT + PLUGIN + EXECUTOR, settle=15
    )
    history.must_satisfy(*JUDGED)
