"""What is written down about a run beside its history: what was asked for, and what was judged."""

from __future__ import annotations

import msgspec

from stormpool.lab import Lab
from stormpool.verdict import Outcome, Verdict


class Program(msgspec.Struct, frozen=True):
    """A program that was given by its path, as it was then."""

    path: str
    sha256: str


class About(msgspec.Struct):
    """`run.json`: what was asked for."""

    id: str
    scenario: str
    guarantees: list[str]
    versions: dict[str, str]
    seed: int
    lab: Lab
    provider: str
    started: str  # when, ISO 8601
    replay: str  # the line that runs it again
    error: str = ""  # what kept the run from being judged
    error_kind: str = ""  # misuse or machine
    timings: dict[str, float] = {}  # seconds of each phase
    operations: dict[str, str] = {}  # what the workload did, by name: how many times, and how many failed
    programs: dict[str, Program] = {}  # those that were given by path and not by version
    began_wall: int = 0  # nanoseconds of the wall clock when the history's time began; 0: unknown


class Judged(msgspec.Struct):
    """`verdict.json`: what came of it."""

    outcome: Outcome
    verdicts: list[Verdict]
