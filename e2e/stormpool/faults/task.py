"""What an agent keeps beside a task: its executor and its logmons, found by what runs on the node."""

from __future__ import annotations

from collections.abc import Callable

from stormpool import target
from stormpool.agents.books import claims_of
from stormpool.checkers.one_plugin_process import plugin_processes
from stormpool.errors import MachineError
from stormpool.events import Process
from stormpool.faults.task_fault import TaskFault
from stormpool.plugins.csi import PLUGIN_TASK
from stormpool.scene import Scene

INIT = 1  # its pid on every node
STOP = """kill -STOP "$@"
while ps -o stat= -p "$*" | grep -q '^[^TZ]'; do sleep 0.01; done"""


def plugins(scene: Scene, name: str, plugin: str = "") -> list[Process]:
    """The processes of plugins on a node: of one that its agent starts itself, by its name or by the call
    that set the fault off; else of the CSI plugins' tasks.
    """
    seen = scene.site.look(name)
    asked = plugin or (scene.held.call.plugin if scene.held else "")
    if asked and asked in {each.id for each in scene.site.lab.external_plugins}:
        return dict(plugin_processes(seen)).get(asked, [])
    return [each for each in seen.processes if each.task == PLUGIN_TASK]


def executors(scene: Scene, fault: TaskFault) -> tuple[str, list[int]]:
    """The node and the executors of the task that is meant; of the CSI plugin on a node when none is named.

    Raises `MachineError` when there is none.
    """
    name, allocs = _allocs(scene, fault)
    found = [seen for seen in scene.site.look(name).processes if seen.is_executor and seen.alloc in allocs]
    named = fault.volume or fault.job
    of_task = [seen.pid for seen in found if named or f"/{PLUGIN_TASK}/executor.out" in seen.argv]
    return name, _some(of_task, f"no executor of {named or 'a plugin'} runs on {name}")


def logmons(scene: Scene, fault: TaskFault) -> tuple[str, list[int]]:
    """The node and the logmons of the allocation that is meant; of the CSI plugin's when none is named.

    One a task: those of an allocation cannot be told apart. Raises `MachineError` when there is none.
    """
    name, allocs = _allocs(scene, fault)
    seen = scene.site.look(name).processes
    found = [each.pid for each in seen if each.is_logmon and each.alloc in allocs]
    return name, _some(found, f"no logmon of {fault.volume or fault.job or 'a plugin'} runs on {name}")


def without_logmon(scene: Scene, name: str) -> set[str]:
    """The allocations of a node that have an executor and no logmon."""
    seen = scene.site.look(name).processes
    return {each.alloc for each in seen if each.is_executor} - {each.alloc for each in seen if each.is_logmon}


def end_orphans(scene: Scene) -> None:
    """SIGKILL to the tasks of nodes hit whose executor has ended: they are children of the node's init."""
    for node in scene.clients_hit():
        seen = scene.site.look(node.spec.name).processes
        orphans = [str(each.pid) for each in seen if each.task and each.parent == INIT]
        if orphans:
            node.run(["kill", "-KILL", *orphans], check=False)  # one may end by itself


def pause(scene: Scene, name: str, pids: list[int]) -> None:
    """SIGSTOP to processes of a node; returns once they have stopped: a busy one does when it next runs.

    One that ends by itself is no error.
    """
    scene.site.nodes[name].run(["sh", "-c", STOP, "sh", *map(str, pids)])


def let_go_on(scene: Scene, which: Callable[[Process], bool]) -> None:
    """SIGCONT to all such processes of the nodes hit."""
    for node in scene.clients_hit():
        seen = scene.site.look(node.spec.name).processes
        pids = [each.pid for each in seen if which(each)]
        if pids:
            node.run(["kill", "-CONT", *map(str, pids)], check=False)


def _allocs(scene: Scene, fault: TaskFault) -> tuple[str, set[str]]:
    """The node and the allocations that are meant."""
    if fault.job:
        allocs = [alloc for alloc in scene.site.allocs_of(fault.job) if alloc.status == "running"]
        if not allocs:
            raise MachineError(f"no allocation of {fault.job} runs")
        name = scene.node(target.node(allocs[0].node))
        return name, {alloc.id for alloc in allocs if alloc.node == name}
    if fault.volume:
        claims = claims_of(scene.cluster.ask(f"volume/csi/{fault.volume}"))
        return scene.node(target.holder(fault.volume)), set(claims)
    name = scene.node(fault.target)
    return name, {seen.alloc for seen in scene.site.look(name).processes if seen.task == PLUGIN_TASK}


def _some(pids: list[int], otherwise: str) -> list[int]:
    if not pids:
        raise MachineError(otherwise)
    return pids
