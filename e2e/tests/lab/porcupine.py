"""Porcupine's word on histories of claims, to hold that of stormpool.models against."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stormpool import programs
from stormpool.history import NEVER
from stormpool.models.claims import ClaimOp, Claims
from stormpool.models.linearizability import check
from stormpool.programs import FIXTURES
from stormpool.verdict import Outcome, worst


@dataclass(frozen=True)
class Asked:
    """A history: what was asked of each volume."""

    volumes: Mapping[str, Sequence[ClaimOp]]
    single: bool = True


@dataclass(frozen=True)
class Said:
    """What porcupine says of one, and the seconds it took."""

    outcome: Outcome
    took: float


def ours(history: Asked, budget: int) -> Outcome:
    """The outcome by stormpool.models."""
    return worst(check(Claims(history.single), ops, budget).outcome for ops in history.volumes.values())


def porcupines(histories: Iterable[Asked], limit: float = 0) -> list[Said]:
    """The outcomes by porcupine; `limit`: seconds for each, none when left out."""
    program = programs.ensure(programs.recipe(FIXTURES / "tools" / "porcupine-claims"))
    lines = "".join(json.dumps(_line(history)) + "\n" for history in histories)
    done = subprocess.run([program, str(limit)], input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [Said(Outcome(answer["outcome"]), answer["ns"] / 1e9) for answer in answers]


def _line(history: Asked) -> dict[str, Any]:
    ops = [_op(volume, op) for volume, each in history.volumes.items() for op in each]
    return {"single": history.single, "ops": ops}


def _op(volume: str, op: ClaimOp) -> dict[str, Any]:
    held = sorted(op.output) if isinstance(op.output, frozenset) else []
    return {
        "volume": volume,
        "action": op.input.action.name.lower(),
        "alloc": op.input.alloc,
        "call": op.call,
        "ret": op.ret if op.ret < NEVER else None,
        "ok": op.output is True,
        "held": held,
    }
