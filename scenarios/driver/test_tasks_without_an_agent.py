"""A task driver alone, driven as an agent would: no agent, no cluster, a run in seconds.

The plugin is killed at each call of a task's life, and the tasks must go on, end as they end, and leave
nothing. What only agents do wrong is not seen here; what the driver does is seen ten times as often.
"""

from stormpool import faults, guarantees, nemesis, target, workloads
from stormpool.alone.site import Alone
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins import driver
from stormpool.workloads import Kind, Workload

LAB = Lab(servers=0, clients=1, plugins=[driver.zfs()])
WRITES = Kind(config={"dataset": {"use": "work"}}, place="/work")
KILLED = faults.KillPlugin(target.serving())


def test_tasks_live_and_end(cluster: Alone) -> None:
    """Four at once, stopped; and four that end by themselves."""
    fails = Kind(seconds=0.2, code=7, name="fails")
    judge(cluster, [workloads.lives(4, WRITES), workloads.lives(4, fails)])


def test_the_plugin_is_killed_while_it_starts_a_task(cluster: Alone) -> None:
    """It is asked once more, with the same id."""
    judge(cluster, [workloads.lives(2, WRITES)], nemesis.on(rpc("StartTask").nth(2).during, KILLED))


def test_the_plugin_is_killed_while_tasks_run(cluster: Alone) -> None:
    """It comes back and finds them."""
    killed = nemesis.at(1.0, faults.KillPlugin(target.node("client1"), plugin=driver.NAME))
    judge(cluster, [workloads.lives(2, WRITES, goes_on=2)], killed)


def test_the_plugin_is_killed_while_it_stops_a_task(cluster: Alone) -> None:
    """The task ends all the same."""
    judge(cluster, [workloads.lives(1, WRITES)], nemesis.on(rpc("StopTask").nth(1).during, KILLED))


def test_a_thousand_short_tasks(cluster: Alone) -> None:
    """Ten at once, a hundred times over; then they are counted."""
    short = Kind(seconds=0.1, code=3)
    judge(cluster, [workloads.lives(10, short, turns=100)])


def judge(cluster: Alone, acting: list[Workload], plan: Plan | None = None) -> None:
    """Everything that is guaranteed of drivers must hold."""
    history = cluster.run(*acting, plan or Plan())
    history.must_satisfy(*guarantees.DRIVERS)
