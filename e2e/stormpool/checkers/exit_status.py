"""What the agent tells of a task's end (seed 004; nomad issue 25453)."""

from __future__ import annotations

from collections.abc import Iterator

from stormpool.events import Ended
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("the exit status told is the exit status had")
def exit_status(history: History) -> Verdict:
    """What agents tell of how a task ended is how it ended.

    A task says the code it is about to end with, as its last words: that code is told. One that never
    came to say it was ended by a signal: a signal is told, or a code other than 0. Each of a task's lives has
    an end that is told; of more or fewer, which is whose end is not known, and it is told apart.
    """
    witnesses: list[Witness] = []
    apart: list[str] = []
    judged = 0
    for ended in history.of(Ended):
        who = f"task {ended.task} of allocation {ended.alloc[:8]} on {ended.node}"
        if len(ended.told) != len(ended.said):
            apart.append(f"{who} had {len(ended.said)} lives, and {len(ended.told)} ends were told")
            continue
        judged += len(ended.said)
        what = [f"{who} {why}, by {seconds(ended.t)}" for why in differences(ended)]
        witnesses += [Witness(each, ended.t, ended.t, [ended.node]) for each in what]
    nothing = "of no task as many ends were told as it had lives" if apart else "no task was seen to end"
    return exit_status.found(judged, witnesses, nothing=nothing, apart=apart)


def differences(ended: Ended) -> Iterator[str]:
    """Each life whose end was told otherwise than it was."""
    for number, ((code, signal), said) in enumerate(zip(ended.told, ended.said, strict=True), 1):
        told = f"code {code}" + (f" and signal {signal}" if signal else "")
        if said >= 0 and (code != said or signal):
            yield f"ended its life {number} with code {said}, and {told} was told"
        if said < 0 and code == 0 and signal == 0:
            yield f"was killed in its life {number}, and {told} was told"
