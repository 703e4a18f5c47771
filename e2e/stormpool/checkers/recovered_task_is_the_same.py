"""What an agent makes of the tasks it had when it is started again (nomad issue 17840)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import structs

from stormpool.events import Down, Member, Observed, Operation, Phase
from stormpool.history import NEVER, History
from stormpool.verdict import Verdict, Witness, guarantee, seconds

STOPS = ("stop", "detach", "attach")  # operations with which a task's time is over, or another's begins


@guarantee("a recovered task is the same task")
def recovered_task_is_the_same(history: History) -> Verdict:
    """A task that is to go on goes on, in the same allocation and the same process, while its node is there.

    Whatever becomes of the agent or the plugin: it is not started anew, nor a second time beside itself. A
    process is the same by its pid and when it was started; what a task starts and ends is its own affair.
    Judged from its start until it is stopped, where it was looked at twice at least. Nodes that went down,
    were drained, made ineligible or held for lost in the meantime are not judged.
    """
    witnesses: list[Witness] = []
    judged = 0
    for first, last in _going_on(history):
        if _gone_meanwhile(history, first, last):
            continue
        looks = _looks(history, first, _stopped_at(history, last))
        why = _why_not(first, last, looks)
        judged += bool(why) or len(looks) > 1
        if why:
            what = f"the task of allocation {first.alloc[:8]} on {first.node}, with {first.subject}, {why}"
            witnesses.append(Witness(what, first.ended, last.ended, [first.node]))
    nothing = "no task that was to go on was looked at twice"
    return recovered_task_is_the_same.found(judged, witnesses, nothing=nothing)


def _going_on(history: History) -> Iterator[tuple[Operation, Operation]]:
    """Each task that was to go on: the operation that began it, and the one that tells that it still runs."""
    began: dict[str, Operation] = {}
    for each in sorted(history.of(Operation), key=lambda each: each.ended):
        if each.name == "attach" and not each.error:
            began[each.subject] = each
        if each.name == "run" and each.subject in began:
            yield began[each.subject], each


def _stopped_at(history: History, last: Operation) -> int:
    """When a task was asked to stop, or all was to settle."""
    stops = [each.t for each in history.of(Operation) if each.name in STOPS and each.subject == last.subject]
    stops += [phase.t for phase in history.of(Phase) if phase.name == "settle"]
    return min((t for t in stops if t >= last.ended), default=NEVER)


def _looks(history: History, first: Operation, until: int) -> list[Observed]:
    """The looks at a task's node while it was to go on, each with that task's processes alone.

    Some tell only of tasks with a ZFS file system of their own: they count where this is such a one.
    """
    here = [
        _of_alloc(look, first.alloc)
        for look in history.of(Observed)
        if look.node == first.node and not look.settled and first.ended < look.t < until
    ]
    writes = any(look.processes for look in here if not look.whole)
    return [look for look in here if look.whole or writes]


def _of_alloc(look: Observed, alloc: str) -> Observed:
    """What a look shows of an allocation's tasks: executors and logmons are none."""
    mine = [each for each in look.processes if each.alloc == alloc and (each.task or not look.whole)]
    return structs.replace(look, processes=mine)


def _gone_meanwhile(history: History, first: Operation, last: Operation) -> bool:
    """Whether a task's node was taken from it: it went down, or was lost to it by the servers' word."""
    taken = [(each.t, each.node) for each in history.of(Down)]
    taken += [
        (each.t, each.node) for each in history.of(Member) if each.status == "down" or not each.eligible
    ]
    return any(node == first.node and first.t <= t <= last.ended for t, node in taken)


def _why_not(first: Operation, last: Operation, looks: Iterable[Observed]) -> str:
    """What became of a task that did not go on."""
    if last.error:
        return f"did not run any more at {seconds(last.ended)}"
    if last.alloc != first.alloc:
        return f"was replaced by allocation {last.alloc[:8]}"
    return _stopped(looks)


def _stopped(looks: Iterable[Observed]) -> str:
    """Which look shows that a task did not just go on, and how."""
    always: set[tuple[int, int]] | None = None
    for event in looks:
        mine = event.processes
        there = {(process.pid, process.started) for process in mine}
        always = there if always is None else always & there
        if not there:
            return f"had stopped at {seconds(event.t)}"
        if not always:
            return f"had been started anew at {seconds(event.t)}"
        pids = {process.pid for process in mine}
        first_of = [process.task for process in mine if process.parent not in pids]
        if len(first_of) > len({*first_of}):
            return f"was there twice at {seconds(event.t)}"
    return ""
