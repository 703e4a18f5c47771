"""What is written down about a run beside its history: what was asked for, and what was judged."""

from __future__ import annotations

import msgspec

from stormpool.lab import Lab
from stormpool.verdict import Outcome, Verdict


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
    began_wall: int = 0  # nanoseconds of the wall clock when the history's time began; 0: unknown


class Judged(msgspec.Struct):
    """`verdict.json`: what came of it."""

    outcome: Outcome
    verdicts: list[Verdict]
