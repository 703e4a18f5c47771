"""What an agent keeps beside a task: its executor and its logmons, found by what runs on the node."""

from __future__ import annotations

from collections.abc import Iterable

from stormpool.agents.books import claims_of
from stormpool.errors import MachineError
from stormpool.history import Process
from stormpool.plugins.csi import PLUGIN_TASK
from stormpool.scene import Scene
from stormpool.target import Target, holder

INIT = 1  # its pid on every node


def plugins(scene: Scene, name: str) -> list[Process]:
    """The processes of the plugins' tasks on a node."""
    return [seen for seen in scene.cluster.look(name).processes if seen.task == PLUGIN_TASK]


def executors(scene: Scene, volume: str, target: Target) -> tuple[str, list[int]]:
    """The node and the executors of the task that holds a volume; of the plugin on a node when none is named.

    Raises `MachineError` when there is none.
    """
    name, allocs = _allocs(scene, volume, target)
    found = [seen for seen in scene.cluster.look(name).processes if _is(seen, "executor", allocs)]
    of_task = [seen.pid for seen in found if volume or f"/{PLUGIN_TASK}/executor.out" in seen.argv]
    return name, _some(of_task, f"no executor of {volume or 'a plugin'} runs on {name}")


def logmons(scene: Scene, volume: str, target: Target) -> tuple[str, list[int]]:
    """The node and the logmons of the allocation that holds a volume; of the plugin's when none is named.

    One a task: those of an allocation cannot be told apart. Raises `MachineError` when there is none.
    """
    name, allocs = _allocs(scene, volume, target)
    found = [seen.pid for seen in scene.cluster.look(name).processes if _is(seen, "logmon", allocs)]
    return name, _some(found, f"no logmon of {volume or 'a plugin'} runs on {name}")


def without_logmon(scene: Scene, name: str) -> set[str]:
    """The allocations of a node that have an executor and no logmon."""
    seen = scene.cluster.look(name).processes
    have = {word: {each.alloc for each in seen if _is(each, word, None)} for word in ("executor", "logmon")}
    return have["executor"] - have["logmon"]


def end_orphans(scene: Scene) -> None:
    """SIGKILL to the tasks of nodes hit whose executor has ended: they are children of the node's init."""
    for node in scene.clients_hit():
        seen = scene.cluster.look(node.spec.name).processes
        orphans = [str(each.pid) for each in seen if each.task and each.parent == INIT]
        if orphans:
            node.run(["kill", "-KILL", *orphans], check=False)  # one may end by itself


def let_go_on(scene: Scene, word: str) -> None:
    """SIGCONT to all executors, or logmons, of the nodes hit."""
    for node in scene.clients_hit():
        seen = scene.cluster.look(node.spec.name).processes
        pids = [each.pid for each in seen if _is(each, word, None)]
        if pids:
            node.run(["kill", "-CONT", *map(str, pids)], check=False)


def _allocs(scene: Scene, volume: str, target: Target) -> tuple[str, set[str]]:
    if volume:
        return scene.node(holder(volume)), set(claims_of(scene.cluster.ask(f"volume/csi/{volume}")))
    name = scene.node(target)
    return name, {seen.alloc for seen in plugins(scene, name)}


def _is(seen: Process, word: str, allocs: Iterable[str] | None) -> bool:
    """Whether a process is an agent's program with this word for a command, of one of these allocations."""
    is_one = seen.argv.split()[1:2] == [word] and seen.name.startswith("nomad")
    return is_one and (allocs is None or seen.alloc in allocs)


def _some(pids: list[int], otherwise: str) -> list[int]:
    if not pids:
        raise MachineError(otherwise)
    return pids
