"""Whether tasks run where they can, whatever is broken meanwhile (nomad issue 13301)."""

from __future__ import annotations

from stormpool.events import Operation
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("every job runs in the end")
def every_job_runs(history: History) -> Verdict:
    """A job that is to go on runs at the end of its time, if need be elsewhere, though faults are not healed.

    Judged where some node is left that could run it, which is the scenario's to see to.
    """
    wanted = [each for each in history.of(Operation) if each.name == "run"]
    witnesses = [
        Witness(
            f"the job that has {each.subject} did not run from {seconds(each.t)} to {seconds(each.ended)}",
            each.t,
            each.ended,
            [node for node in (_last_node(history, each),) if node],
        )
        for each in wanted
        if each.error
    ]
    return every_job_runs.found(len(wanted), witnesses, nothing="no job was to go on for a while")


def _last_node(history: History, failed: Operation) -> str:
    """Where the job had run before."""
    before = [each.node for each in history.of(Operation) if each.subject == failed.subject and each.node]
    return before[-1] if before else ""
