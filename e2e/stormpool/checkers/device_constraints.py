"""Which instances a job may have (nomad issue 18141)."""

from __future__ import annotations

from stormpool.checkers.paired import counted
from stormpool.history import History
from stormpool.instances import id_of
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("constraints on instances are honoured")
def device_constraints(history: History) -> Verdict:
    """A task whose job names instances by a constraint on `${device.ids}` is given those.

    By the servers' books, while tasks are counted.
    """
    witnesses, judged = [], 0
    for census, _ in counted(history):
        for task in census.tasks:
            if not task.wanted or task.state != "running":
                continue
            judged += 1
            if not {*map(id_of, task.devices)} <= {*task.wanted}:
                what = (
                    f"task {task.name} of allocation {task.alloc[:8]} may have {', '.join(task.wanted)} and "
                    f"was given {', '.join(task.devices)}, by {seconds(census.t)}"
                )
                witnesses.append(Witness(what, census.t, census.t, [task.node]))
    return device_constraints.found(judged, witnesses, nothing="no job named an instance")
