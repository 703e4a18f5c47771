"""How long stormpool.models and porcupine take to judge the same histories of one volume's claims.

    python e2e/bench/linearizability.py [--runs N] [--limit SECONDS] [--json]

Both in one process each, the history in memory; without porcupine's goroutines, for there is one volume.
Figures are medians, in milliseconds; a ratio above 1 means that porcupine is faster. The histories are those
of clients that claim, read and release: what they saw, and the same with one answer wrong near the end; then
with operations that got no answer. Past the limit the outcome is unknown, and the time is the limit's.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "lab")]

from claim_histories import Shape, seen

from figures import show
from porcupine import Asked, Said, ours, porcupines
from stormpool.history import NEVER
from stormpool.models.claims import Action, ClaimOp
from stormpool.verdict import Outcome

SIZES = (100, 1_000, 10_000)
CLIENTS = (2, 5, 10)
UNANSWERED = (0.02, 0.1, 0.3)
STEPS_A_SECOND = 1_000_000  # about: turns a limit in seconds into one in steps


@dataclass(frozen=True)
class Case:
    """One history."""

    name: str
    ops: list[ClaimOp]


def cases() -> list[Case]:
    """All that is measured."""
    plain = [Shape(size, clients) for size in SIZES for clients in CLIENTS]
    hard = [Shape(size, 10, share) for size in SIZES for share in UNANSWERED]
    return [case for shape in (*plain, *hard) for case in _both(shape)]


def _both(shape: Shape) -> list[Case]:
    ops = seen(Random(7), shape)
    name = f"{shape.operations} by {shape.clients}, {shape.unanswered:.0%} open"
    return [Case(name, ops), Case(f"{name}, wrong", _wrong(ops))]


def _wrong(ops: list[ClaimOp]) -> list[ClaimOp]:
    """One read, nine tenths on, shows an allocation that never was."""
    start = len(ops) * 9 // 10
    place = next(
        number
        for number, op in enumerate(ops)
        if number >= start and op.input.action is Action.READ and op.ret < NEVER
    )
    return [*ops[:place], replace(ops[place], output=frozenset({"nobody"})), *ops[place + 1 :]]


def timed(case: Case, limit: float) -> Said:
    """The outcome by stormpool.models and how long it took."""
    gc.collect()
    began = time.perf_counter()
    outcome = ours(Asked({"vol1": case.ops}), int(limit * STEPS_A_SECOND))
    return Said(outcome, time.perf_counter() - began)


def main() -> None:
    """Measure every case side by side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    figures: dict[str, object] = {}
    ratios = []
    for case in cases():
        mine = [timed(case, asked.limit) for _ in range(asked.runs)]
        theirs = porcupines([Asked({"vol1": case.ops})] * asked.runs, asked.limit)
        said = {each.outcome for each in (*mine, *theirs)}
        assert len(said - {Outcome.UNKNOWN}) <= 1, f"{case.name}: {said}"
        here, there = (median(each.took for each in side) for side in (mine, theirs))
        figures |= {
            f"{case.name}: ours": f"{mine[0].outcome}, {here * 1e3:.2f} ms",
            f"{case.name}: porcupine": f"{theirs[0].outcome}, {there * 1e3:.2f} ms",
            f"{case.name}: ratio": here / there,
        }
        ratios.append(here / there)
    show({**figures, "ratio, median": median(ratios), "ratio, worst": max(ratios)}, as_json=asked.json)


if __name__ == "__main__":
    main()
