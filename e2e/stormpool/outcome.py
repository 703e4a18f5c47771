"""What a run came to, in one word for all commands that ask: its verdicts, and what kept it from its end."""

from __future__ import annotations

from stormpool.errors import Misuse, StormpoolError, Unavailable
from stormpool.run import About, Judged
from stormpool.store import RunDirectory
from stormpool.verdict import Outcome

KINDS = ("misuse", "machine", "skipped")  # of errors, which are outcomes of their own


def of(about: About, judged: Judged | None) -> str:
    """valid, invalid, unknown, misuse, machine or skipped.

    A breach that was seen is one, whatever else went wrong; but a run that did not come to its end has not
    held, however well its first verdicts were.
    """
    outcome = str(judged.outcome if judged else Outcome.UNKNOWN)
    if not about.error or outcome == Outcome.INVALID:
        return outcome
    return about.error_kind if about.error_kind in KINDS else str(Outcome.UNKNOWN)


def of_run(run: RunDirectory) -> str:
    """What the run in a directory came to."""
    return of(run.about(), run.judged())


def kind_of(error: BaseException) -> str:
    """What kind of error kept a run from its end: one of ours, or the scenario's."""
    for kind, name in ((Misuse, "misuse"), (Unavailable, "skipped"), (StormpoolError, "machine")):
        if isinstance(error, kind):
            return name
    return "scenario"
