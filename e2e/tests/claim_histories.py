"""Histories of claims as clients of one volume could have seen them, and the same with something wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from stormpool.history import NEVER
from stormpool.models.claims import NOBODY, Action, Answer, ClaimOp, Claims, Request
from stormpool.models.linearizability import Op


@dataclass(frozen=True)
class Shape:
    """How a history is to look."""

    operations: int
    clients: int
    unanswered: float = 0.0  # the share of operations that get no answer
    single: bool = True


def seen(chance: Random, shape: Shape) -> list[ClaimOp]:
    """What clients saw of one sequential execution: linearizable, for it was made so.

    Every operation takes effect at an instant of its own; one without an answer at any later time, or never.
    """
    asked = [each for client in range(shape.clients) for each in _asked(chance, shape, f"client{client}")]
    asked.sort(key=lambda each: each[0])
    model, state = Claims(shape.single), NOBODY
    ops = []
    for effect, op in asked:
        answer = _answer(model, state, op) if op.ret < NEVER else None
        ops.append(replace(op, output=answer))
        if effect < NEVER:
            _, state = model.step(state, ops[-1])
    return sorted(ops, key=lambda op: op.call)


def _asked(chance: Random, shape: Shape, client: str) -> Iterator[tuple[int, ClaimOp]]:
    """What one client asks, one after another, each with the time at which it takes effect."""
    now, turn, claimed = chance.randrange(20), 0, False
    for _ in range(shape.operations // shape.clients):
        likely = (Action.READ, Action.CLAIM, Action.RELEASE, Action.RELEASE)
        action = chance.choice(likely if claimed else likely[:2])
        request = Request(action, "" if action is Action.READ else f"{client}-{turn}")
        claimed = action is Action.CLAIM or (claimed and action is Action.READ)
        turn += action is Action.RELEASE
        effect = now + chance.randrange(1, 20)
        ret = effect + chance.randrange(1, 20)
        if chance.random() < shape.unanswered:
            yield effect + chance.choice((0, 50, 500, NEVER)), Op(now, request, process=client)
        else:
            yield effect, Op(now, request, None, ret, client)
        now = ret + chance.randrange(1, 10)


def _answer(model: Claims, state: frozenset[str], op: ClaimOp) -> Answer:
    """What the model itself answers."""
    if op.input.action is Action.READ:
        return state
    return model.step(state, replace(op, output=True))[0]


def mutated(chance: Random, ops: list[ClaimOp]) -> list[ClaimOp]:
    """The same with one answer changed, or one operation moved or lost: it may be linearizable or not."""
    changed = list(ops)
    place = chance.randrange(len(ops))
    op = ops[place]
    match chance.randrange(4):
        case 0 if op.ret < NEVER:
            changed[place] = replace(op, output=_other(chance, op, ops))
        case 1:
            del changed[place]
        case 2 if op.ret < NEVER:
            by = chance.randrange(-60, 60)
            changed[place] = replace(op, call=max(0, op.call + by), ret=max(0, op.ret + by))
        case _ if op.ret < NEVER:
            changed[place] = replace(op, ret=op.call + 1)
    return sorted(changed, key=lambda op: op.call)


def _other(chance: Random, op: ClaimOp, ops: list[ClaimOp]) -> Answer:
    """Another answer of the same kind."""
    if isinstance(op.output, frozenset):
        names = sorted({other.input.alloc for other in ops if other.input.alloc}) or ["nobody"]
        return frozenset() if op.output and chance.random() < 0.5 else frozenset({chance.choice(names)})
    return op.input.action is Action.RELEASE or not op.output
