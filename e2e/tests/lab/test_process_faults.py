"""Faults of processes hit the one they name, and mend it: the kernel's word for each, in one lab.

A task writes to `vol1` on client1; client2 has the plugin, and a task of a driver that is a plugin itself.
"""

from collections.abc import Iterator

import pytest

from stormpool import faults, target, workloads
from stormpool.checkers.one_plugin_process import plugin_processes
from stormpool.cluster import Cluster
from stormpool.errors import MachineError, Misuse
from stormpool.events import Operation, Process
from stormpool.faults import Fault
from stormpool.faults.task import without_logmon
from stormpool.lab import Lab
from stormpool.plugins import csi, driver
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.target import Target
from stormpool.wait import wait_until
from stormpool.workloads import Kind, attaching
from stormpool.workloads.tasks import job

pytestmark = pytest.mark.lab

CLIENT1, CLIENT2, SERVER = (target.node(name) for name in ("client1", "client2", "server1"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A lab with a volume that is written to on client1."""
    lab = Lab(servers=1, clients=2, plugins=[csi.zfs(), driver.zfs()], heartbeat_grace=20.0)
    out = tmp_path_factory.mktemp("runs")
    with running(Asked(lab=lab, scenario="process faults", nomad="1.6.1", out=out, seed=1)) as up:
        up.create_volumes(1)
        attaching.attach(up, workloads.consumer("writer", "vol1", "exec", "client1"), "vol1", 60)
        attaching.attach(up, job("driven", Kind(node="client2")), "driven", 60)
        assert not any(each.error for each in up.turn.directory.read_history().of(Operation))
        yield up


@pytest.fixture
def scene(cluster: Cluster) -> Scene:
    """No call sets these faults off."""
    return Scene(cluster)


def of(cluster: Cluster, name: str, *, task: str = "", word: str = "", holds: str = "") -> list[Process]:
    """Processes of a node: of a task, or of an agent's program called with a word; of one allocation."""
    return [
        seen
        for seen in cluster.look(name).processes
        if task in ("", seen.task)
        and word in ("", *seen.argv.split()[1:2])
        and holds in ("", seen.alloc)
        and (task or word)
    ]


def pids(seen: list[Process]) -> set[int]:
    return {each.pid for each in seen}


def stopped(cluster: Cluster, name: str) -> set[int]:
    """The processes of a node that are stopped, by the kernel's word."""
    said = cluster.nodes[name].run(["ps", "-e", "-o", "pid=,stat="]).stdout.splitlines()
    return {int(pid) for pid, state in (line.split() for line in said) if state.startswith("T")}


def writer(cluster: Cluster) -> list[Process]:
    """The task that writes, without the commands it runs."""
    seen = of(cluster, "client1", task="writer")
    return [each for each in seen if each.parent not in pids(seen)]


def agent(cluster: Cluster, name: str) -> set[int]:
    return pids(of(cluster, name, word="agent"))


def versions(cluster: Cluster) -> dict[str, str]:
    """What each agent says it is."""
    return {
        name: str(cluster.api(name).get("agent/self")["member"]["Tags"].get("build", ""))
        if name == "server1"
        else str(cluster.api(name).get("agent/self")["config"]["Version"]["Version"])
        for name in cluster.nodes
    }


@pytest.mark.parametrize("name", ["client1", "server1"])
def test_an_agent_that_is_restarted(scene: Scene, cluster: Cluster, name: str) -> None:
    before, task = agent(cluster, name), writer(cluster)
    faults.RestartAgent(target.node(name)).inject(scene)
    after = agent(cluster, name)
    assert len(after) == 1
    assert not after & before
    assert pids(writer(cluster)) == pids(task)
    cluster.agents.wait_known()


@pytest.mark.parametrize("version", ["1.8.0", "1.6.0"])
@pytest.mark.parametrize("name", ["client1", "server1"])
def test_an_agent_that_is_upgraded_or_downgraded(
    scene: Scene, cluster: Cluster, name: str, version: str
) -> None:
    task, lab = writer(cluster), versions(cluster)
    fault = faults.ChangeAgent(target.node(name), version)
    fault.prepare()
    fault.inject(scene)
    assert versions(cluster) == {**lab, name: version}
    assert pids(writer(cluster)) == pids(task)
    fault.heal(scene)
    fault.heal(scene)
    assert versions(cluster) == lab
    assert pids(writer(cluster)) == pids(task)
    cluster.agents.wait_known()


def test_an_upgrade_for_good(scene: Scene, cluster: Cluster) -> None:
    fault = faults.ChangeAgent(CLIENT2, "1.6.2", for_good=True)
    fault.inject(scene)
    fault.heal(scene)
    assert versions(cluster)["client2"] == "1.6.2"
    faults.ChangeAgent(CLIENT2, "1.6.2").heal(scene)
    assert versions(cluster)["client2"] == "1.6.1"
    cluster.agents.wait_known()
    with pytest.raises(Misuse, match=r"no Nomad '0\.1'"):
        faults.ChangeAgent(CLIENT2, "0.1").prepare()


def test_a_plugin_that_is_paused(scene: Scene, cluster: Cluster) -> None:
    plugin = pids(of(cluster, "client2", task="plugin"))
    fault = faults.PausePlugin(CLIENT2)
    fault.inject(scene)
    assert stopped(cluster, "client2") == plugin
    assert not stopped(cluster, "client1")
    fault.heal(scene)
    fault.heal(scene)
    assert not stopped(cluster, "client2")


def test_a_plugin_that_is_restarted(scene: Scene, cluster: Cluster) -> None:
    before = pids(of(cluster, "client2", task="plugin"))
    faults.RestartPlugin(CLIENT2).inject(scene)
    wait_until(
        "another runs",
        lambda: pids(of(cluster, "client2", task="plugin")),
        lambda now: bool(now) and not now & before,
        timeout=20,
    )


@pytest.mark.parametrize(
    ("fault", "name", "word"),
    [
        (faults.PauseExecutor("vol1"), "client1", "executor"),
        (faults.PauseExecutor(target=CLIENT2), "client2", "executor"),
        (faults.PauseLogmon("vol1"), "client1", "logmon"),
        (faults.PauseLogmon(target=CLIENT2), "client2", "logmon"),
    ],
    ids=repr,
)
def test_what_an_agent_keeps_beside_a_task_is_paused(
    scene: Scene, cluster: Cluster, fault: Fault, name: str, word: str
) -> None:
    task = writer(cluster) if name == "client1" else of(cluster, name, task="plugin")
    beside = pids(of(cluster, name, word=word, holds=task[0].alloc))
    fault.inject(scene)
    now = stopped(cluster, name)
    assert now
    assert now <= beside
    if word == "executor":
        assert now == {task[0].parent}
    fault.heal(scene)
    fault.heal(scene)
    assert not stopped(cluster, name)


def driven(cluster: Cluster) -> list[Process]:
    """What belongs to the task of the driver that is a plugin itself."""
    (alloc,) = cluster.allocs_of("driven")
    return [seen for seen in cluster.look("client2").processes if seen.alloc == alloc.id]


def test_the_executor_of_a_plugins_task_is_paused(scene: Scene, cluster: Cluster) -> None:
    fault = faults.PauseExecutor(job="driven")
    fault.inject(scene)
    assert stopped(cluster, "client2") == {seen.pid for seen in driven(cluster) if seen.is_executor}
    fault.heal(scene)
    fault.heal(scene)
    assert not stopped(cluster, "client2")


def test_the_logmon_of_a_plugins_task_is_killed(scene: Scene, cluster: Cluster) -> None:
    fault = faults.KillLogmon(job="driven")
    fault.inject(scene)
    assert not any(seen.is_logmon for seen in driven(cluster))
    fault.heal(scene)
    wait_until(
        "it has one",
        lambda: sum(seen.is_logmon for seen in driven(cluster)),
        lambda now: now == 1,
        timeout=20,
    )


def test_a_plugin_that_cannot_be_started_again(scene: Scene, cluster: Cluster) -> None:
    def running() -> set[int]:
        return pids(dict(plugin_processes(cluster.look("client2"))).get(driver.NAME, []))

    before = running()
    fault = faults.BreakPlugin(driver.NAME, CLIENT2)
    fault.inject(scene)
    wait_until("it has ended", running, lambda now: not now, timeout=10)
    fault.heal(scene)
    fault.heal(scene)
    assert wait_until("it runs", running, timeout=20) != before
    cluster.agents.wait_known()


@pytest.mark.parametrize(
    ("name", "fault", "tasks"),
    [("client1", faults.KillLogmon("vol1"), 1), ("client2", faults.KillLogmon(target=CLIENT2), 2)],
    ids=repr,
)
def test_logmons_that_are_killed(scene: Scene, cluster: Cluster, name: str, fault: Fault, tasks: int) -> None:
    task = writer(cluster) if name == "client1" else of(cluster, name, task="plugin")
    assert len(of(cluster, name, word="logmon", holds=task[0].alloc)) >= tasks
    fault.inject(scene)
    assert not of(cluster, name, word="logmon", holds=task[0].alloc)
    fault.heal(scene)
    wait_until(
        "each task has one",
        lambda: (len(of(cluster, name, word="logmon", holds=task[0].alloc)), without_logmon(scene, name)),
        lambda now: now == (tasks, set()),
        timeout=20,
    )
    started = agent(cluster, name)
    fault.heal(scene)
    assert agent(cluster, name) == started  # nothing was to be mended


def test_a_plugins_executor_that_is_killed(scene: Scene, cluster: Cluster) -> None:
    before = of(cluster, "client2", task="plugin")
    fault = faults.KillExecutor(target=CLIENT2)
    fault.inject(scene)
    assert before[0].parent not in pids(of(cluster, "client2", word="executor"))
    wait_until(
        "the agent has started another plugin beside the one it lost",
        lambda: pids(of(cluster, "client2", task="plugin")),
        lambda now: pids(before) < now,
        timeout=20,
    )
    fault.heal(scene)
    fault.heal(scene)
    assert len(_gone(cluster, before)) == 1


def _gone(cluster: Cluster, before: list[Process]) -> set[int]:
    """The plugins of client2 once those from before are gone."""
    return wait_until(
        "they are gone",
        lambda: pids(of(cluster, "client2", task="plugin")),
        lambda now: not now & pids(before),
        timeout=10,
    )


@pytest.mark.parametrize("fault", [faults.KillExecutor, faults.PauseLogmon])
def test_a_node_with_no_such_process(scene: Scene, fault: type[Fault]) -> None:
    aimed: dict[str, Target] = {"target": SERVER}
    with pytest.raises(MachineError, match="runs on server1"):
        fault(**aimed).inject(scene)


def test_an_executor_that_is_killed(scene: Scene, cluster: Cluster) -> None:
    """Last of all: the task is held for dead and yet lives, until the fault is healed."""
    task = writer(cluster)
    fault = faults.KillExecutor("vol1")
    fault.inject(scene)
    cluster.api().until(
        "job/writer/allocations", lambda seen: seen[0]["ClientStatus"] == "failed", timeout=20
    )
    assert pids(writer(cluster)) >= pids(task)
    fault.heal(scene)
    wait_until("the task is gone", lambda: writer(cluster), lambda now: not now, timeout=10)
