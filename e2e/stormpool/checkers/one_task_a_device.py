"""Who uses a device instance, by the kernel's word (seed 000; nomad issues 10446 and 18364)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from stormpool.checkers.dataset_lives_as_long import reservations
from stormpool.checkers.holds import Hold, clashes, holds
from stormpool.checkers.paired import counted
from stormpool.events import Census, TaskView
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("one live task a device instance")
def one_task_a_device(history: History) -> Verdict:
    """A device instance is used by one live task at most, and every task has as many as its job asks for.

    By ground truth: live processes of different allocations that can write to what the instance stands for at
    one time, as its plugin's answer to Reserve names it; what happened between two looks is not held against
    anybody. And by the servers' books, while tasks are counted: no two running tasks of a node have one
    instance, and none is placed with fewer than its job asks for.
    """
    # By node and dataset: nodes call their instances alike.
    reserved = {(key[0], name): key for key, names in reservations(history).items() for name in names}
    by_instance: dict[tuple[str, str], list[Hold]] = defaultdict(list)
    for hold in holds(history):
        key = reserved.get((hold.node, hold.name))
        if key is not None:
            by_instance[key].append(hold)
    witnesses = [
        _together(instance, one, other)
        for (_, instance), held in by_instance.items()
        for one, other in clashes(held)
    ]
    judged = sum(map(len, by_instance.values()))
    for census, _ in counted(history):
        asking = [task for task in census.tasks if task.asked]
        judged += len(asking)
        witnesses += [_in_books(what, census) for what in (*_too_few(asking), *_given_twice(asking))]
    return one_task_a_device.found(judged, witnesses, nothing="no task was seen with a device")


def _too_few(asking: list[TaskView]) -> Iterator[str]:
    """Tasks that were placed with other than as many devices as they ask for."""
    for task in asking:
        if len(task.devices) != task.asked:
            given = ", ".join(task.devices) or "none"
            who = f"task {task.name} of allocation {task.alloc[:8]}"
            yield f"{who} asks for {task.asked} devices and was given {given}"


def _given_twice(asking: list[TaskView]) -> Iterator[str]:
    """Devices that two running tasks have."""
    taken: dict[tuple[str, str], TaskView] = {}
    for task in asking:
        for device in task.devices if task.state == "running" else ():
            other = taken.setdefault((task.node, device), task)
            if other is not task:
                pair = f"allocations {other.alloc[:8]} and {task.alloc[:8]}"
                yield f"{pair} were both given {device} of {task.node}"


def _together(instance: str, one: Hold, other: Hold) -> Witness:
    start, end = max(one.start, other.start), min(one.end, other.end)
    what = f"allocations {one.alloc[:8]} and {other.alloc[:8]} both used {instance} of {one.node}"
    return Witness(f"{what} from {seconds(start)} to {seconds(end)}", start, end, [one.node])


def _in_books(what: str, census: Census) -> Witness:
    nodes = sorted({task.node for task in census.tasks})
    return Witness(f"{what}, by the servers at {seconds(census.t)}", census.t, census.t, nodes)
