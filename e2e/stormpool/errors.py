"""The two families of failure, apart: *misuse* is yours and says the fix; *machine* is the world's.

A broken guarantee is neither: it is a verdict (`stormpool.verdict`), and only becomes an exception where
pytest needs one to fail a test.
"""

from __future__ import annotations

from collections.abc import Sequence


class StormpoolError(Exception):
    """What every error of ours is; `exit_code` is what the command line ends with."""

    exit_code = 70


class Misuse(StormpoolError):
    """Something asked for cannot be: says what, where, and the fix. Ends the command line with 64."""

    exit_code = 64

    def __init__(self, what: str, *, fix: str) -> None:
        super().__init__(f"{what}\n  fix: {fix}")
        self.what = what
        self.fix = fix


class MachineError(StormpoolError):
    """The machine, an agent or a plugin did not do what a lab needs. Ends the command line with 70."""


class Unavailable(StormpoolError):
    """A scenario needs what this provider, host or version does not have: it is skipped, and counted so."""

    exit_code = 2


class CommandFailed(MachineError):
    """A command ended with another code than 0; carries everything it said."""

    def __init__(self, where: str, argv: Sequence[str], code: int, stdout: str, stderr: str) -> None:
        said = (stderr.strip() or stdout.strip() or "it said nothing").splitlines()
        super().__init__(f"{where}: `{' '.join(argv)}` ended with {code}: {' / '.join(said[-6:])}")
        self.where = where
        self.argv = list(argv)
        self.code = code
        self.stdout = stdout
        self.stderr = stderr


class TimedOut(MachineError):
    """A condition did not come true within its bound; carries the last snapshot seen."""
