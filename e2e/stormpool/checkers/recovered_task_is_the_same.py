"""What an agent makes of the tasks it had when it is started again (nomad issue 17840)."""

from __future__ import annotations

from collections.abc import Iterable

from stormpool.history import Down, History, Member, Observed, Operation
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("a recovered task is the same task")
def recovered_task_is_the_same(history: History) -> Verdict:
    """A task that is to go on goes on, in the same allocation and the same process, while its node is there.

    Whatever becomes of the agent or the plugin: it is not started anew, nor a second time beside itself. A
    process is the same by its pid and when it was started; what a task starts and ends is its own affair.
    Nodes that went down, were drained, made ineligible or held for lost in the meantime are not judged.
    """
    began = {each.subject: each for each in history.of(Operation) if each.name == "attach" and not each.error}
    witnesses: list[Witness] = []
    judged = 0
    for last in history.of(Operation):
        first = began.get(last.subject)
        if last.name != "run" or first is None or _gone_meanwhile(history, first, last):
            continue
        judged += 1
        why = _why_not(history, first, last)
        if why:
            what = f"the task of allocation {first.alloc[:8]} on {first.node}, with {first.subject}, {why}"
            witnesses.append(Witness(what, first.ended, last.ended, [first.node]))
    return recovered_task_is_the_same.found(judged, witnesses, nothing="no task was to go on for a while")


def _gone_meanwhile(history: History, first: Operation, last: Operation) -> bool:
    """Whether a task's node was taken from it: it went down, or was lost to it by the servers' word."""
    taken = [(each.t, each.node) for each in history.of(Down)]
    taken += [
        (each.t, each.node) for each in history.of(Member) if each.status == "down" or not each.eligible
    ]
    return any(node == first.node and first.t <= t <= last.ended for t, node in taken)


def _why_not(history: History, first: Operation, last: Operation) -> str:
    """What became of a task that did not go on."""
    if last.error:
        return f"did not run any more at {seconds(last.ended)}"
    if last.alloc != first.alloc:
        return f"was replaced by allocation {last.alloc[:8]}"
    # Not the looks that show all there is: executors and logmons are no task.
    told = (event for event in history.of(Observed) if not event.settled and not event.whole)
    looks = [event for event in told if event.node == first.node]
    return _stopped([event for event in looks if first.ended < event.t < last.t], first.alloc)


def _stopped(looks: Iterable[Observed], alloc: str) -> str:
    """Which look shows that a task did not just go on, and how."""
    always: set[tuple[int, int]] | None = None
    for event in looks:
        mine = [process for process in event.processes if process.alloc == alloc]
        there = {(process.pid, process.started) for process in mine}
        always = there if always is None else always & there
        if not there:
            return f"had stopped at {seconds(event.t)}"
        if not always:
            return f"had been started anew at {seconds(event.t)}"
        pids = {process.pid for process in mine}
        if sum(1 for process in mine if process.parent not in pids) > 1:
            return f"was there twice at {seconds(event.t)}"
    return ""
