"""The claims of one volume, as one who answers one request after another would keep them.

Of a volume for a single writer at most one allocation holds the claim, and claiming again what one holds
changes nothing (Nomad's `CSIVolume.claimWrite`). Volumes of other access modes may be held by many. Every
claim is one to write: no workload asks for one to read only, which one for a single writer may have as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from stormpool.models.linearizability import Op

REFUSED = "refused: "  # how the error of an attach begins that was told that others hold the volume

Holders = frozenset[str]
NOBODY: Holders = frozenset()


class Action(Enum):
    """What one can ask of a volume's claims."""

    CLAIM = auto()
    RELEASE = auto()
    READ = auto()


class Request(NamedTuple):
    """What was asked, for which allocation: a release without one is of all claims."""

    action: Action
    alloc: str = ""


Answer = bool | Holders  # claim: taken or refused; release: True; read: who holds a claim
ClaimOp = Op[Request, Answer]


@dataclass(frozen=True)
class Claims:
    """The model: its state is who holds a claim."""

    single: bool = True

    def init(self) -> Holders:
        """Nobody holds it."""
        return NOBODY

    def step(self, state: Holders, op: ClaimOp) -> tuple[bool, Holders]:
        """One request after all others."""
        action, alloc = op.input
        if action is Action.READ:
            return op.output is None or op.output == state, state
        if action is Action.RELEASE:
            return True, state - {alloc} if alloc else NOBODY
        if self.single and state and alloc not in state:
            return not op.output, state  # refused, or nobody knows
        if op.output is False:
            return False, state
        return True, state | {alloc}

    def reads(self, op: ClaimOp) -> bool:
        """Reads, and claims that were refused."""
        return op.input.action is Action.READ or op.output is False
