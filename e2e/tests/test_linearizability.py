"""The check of linearizability against a slow one that tries every order, and on histories made to hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise, permutations
from random import Random
from typing import Literal

import pytest
from claim_histories import Shape, mutated, seen
from hypothesis import given, settings
from hypothesis import strategies as st

from stormpool.history import NEVER
from stormpool.models.claims import Action, ClaimOp, Claims, Request
from stormpool.models.linearizability import I, Model, O, Op, S, check
from stormpool.verdict import Outcome

PLENTY = 1_000_000
RegisterOp = Op[tuple[Literal["write", "read", "swap"], int, int], int]


@dataclass(frozen=True)
class Register:
    """A number that is written, read, or swapped for another if it is as expected (answer: 1 or 0)."""

    def init(self) -> int:
        return 0

    def step(self, state: int, op: RegisterOp) -> tuple[bool, int]:
        what, value, expected = op.input
        if what == "write":
            return True, value
        if what == "read":
            return op.output in (None, state), state
        swapped = state == expected
        return op.output in (None, int(swapped)), value if swapped else state

    def reads(self, op: RegisterOp) -> bool:
        return op.input[0] == "read" or (op.input[0] == "swap" and op.output == 0)


def explained(model: Model[S, I, O], order: Sequence[Op[I, O]]) -> bool:
    """Whether an order keeps to the times and to the model."""
    latest_call = 0
    state = model.init()
    for op in order:
        latest_call = max(latest_call, op.call)
        may, state = model.step(state, op)
        if not may or op.ret < latest_call:
            return False
    return True


def by_trying_all(model: Model[S, I, O], ops: Sequence[Op[I, O]]) -> bool:
    """The oracle: every order of the answered operations with every choice of the others."""
    answered = [op for op in ops if op.ret < NEVER]
    others = [op for op in ops if op.ret >= NEVER]
    chosen = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    return any(explained(model, order) for some in chosen for order in permutations([*answered, *some]))


def outcome(model: Model[S, I, O], ops: Sequence[Op[I, O]]) -> Outcome:
    """The outcome, its order checked against the oracle's own reading of it."""
    result = check(model, ops, PLENTY)
    assert explained(model, result.order)
    placed = [op for op in result.order if op.ret < NEVER]
    if result.outcome is Outcome.VALID:
        assert sorted(map(id, placed)) == sorted(id(op) for op in ops if op.ret < NEVER)
    else:
        assert result.stuck
        assert not {id(op) for op in placed} & {id(op) for op in result.stuck}
    return result.outcome


TIMES = st.integers(0, 12)


@st.composite
def register_ops(draw: st.DrawFn) -> RegisterOp:
    call, ret = sorted(draw(st.tuples(TIMES, TIMES)))
    what: Literal["write", "read", "swap"] = draw(st.sampled_from(("write", "read", "swap")))
    values = st.integers(0, 2)
    asked = (what, draw(values), draw(values))
    if draw(st.integers(0, 3)) == 0:
        return Op(call, asked)
    answers = {"write": st.just(1), "read": values, "swap": st.integers(0, 1)}
    return Op(call, asked, draw(answers[what]), ret)


@settings(max_examples=600)
@given(st.lists(register_ops(), max_size=6))
def test_a_register_is_judged_as_by_trying_every_order(ops: list[RegisterOp]) -> None:
    assert (outcome(Register(), ops) is Outcome.VALID) == by_trying_all(Register(), ops)


@settings(max_examples=600)
@given(st.integers(0, 1 << 32), st.integers(2, 6), st.integers(1, 4), st.booleans())
def test_claims_are_judged_as_by_trying_every_order(
    seed: int, operations: int, clients: int, single: bool
) -> None:
    chance = Random(seed)
    shape = Shape(max(operations, clients), clients, chance.choice((0.0, 0.3, 0.6)), single)
    ops = mutated(chance, mutated(chance, seen(chance, shape)))[:6]
    model = Claims(single)
    assert (outcome(model, ops) is Outcome.VALID) == by_trying_all(model, ops)


@settings(max_examples=300)
@given(st.integers(0, 1 << 32), st.integers(1, 120), st.integers(1, 8), st.booleans())
def test_what_an_execution_showed_is_never_invalid(
    seed: int, operations: int, clients: int, single: bool
) -> None:
    chance = Random(seed)
    shape = Shape(operations, clients, chance.choice((0.0, 0.1, 0.5 if single else 0.2)), single)
    judged = outcome(Claims(single), seen(chance, shape))
    # With several holders and many unanswered calls the search may be given up.
    assert judged is Outcome.VALID or (judged is Outcome.UNKNOWN and not single)


def test_nothing_is_valid() -> None:
    assert check(Claims(), [], PLENTY).outcome is Outcome.VALID


def test_past_the_budget_the_outcome_is_unknown_and_never_valid() -> None:
    ops = seen(Random(1), Shape(400, 10, 0.3))
    steps = check(Claims(), ops, PLENTY).steps
    for budget in (0, 1, steps // 2, steps - 1):
        assert check(Claims(), ops, budget).outcome is Outcome.UNKNOWN
    wrong = [replace(op, output=frozenset({"nobody"})) if i == 390 else op for i, op in enumerate(ops)]
    assert check(Claims(), wrong, 10).outcome is Outcome.UNKNOWN


def test_what_could_not_be_placed_is_told() -> None:
    claim, again = Request(Action.CLAIM, "a"), Request(Action.CLAIM, "b")
    ops: list[ClaimOp] = [
        Op(0, claim, True, 1),
        Op(2, again, True, 5),
        Op(3, Request(Action.READ), frozenset({"a"}), 4),
    ]
    result = check(Claims(), ops, PLENTY)
    assert result.outcome is Outcome.INVALID
    assert result.order == [ops[0], ops[2]]
    assert result.stuck == [ops[1]]


def test_operations_that_touch_are_concurrent() -> None:
    claim, read = Request(Action.CLAIM, "a"), Request(Action.READ)
    touching: list[ClaimOp] = [Op(0, claim, True, 5), Op(5, read, frozenset(), 9)]
    assert check(Claims(), touching, PLENTY).outcome is Outcome.VALID
    apart: list[ClaimOp] = [Op(0, claim, True, 5), Op(6, read, frozenset(), 9)]
    assert check(Claims(), apart, PLENTY).outcome is Outcome.INVALID


@pytest.mark.parametrize("operations", [20_000])
def test_no_limit_of_recursion_and_about_as_many_steps_as_operations(operations: int) -> None:
    result = check(Claims(), seen(Random(3), Shape(operations, 10)), PLENTY)
    assert result.outcome is Outcome.VALID
    assert result.steps < 10 * operations
    assert all(one.call <= other.ret for one, other in pairwise(result.order))


def test_many_without_an_answer_do_not_blow_up() -> None:
    """Every subset of them may have happened; a search that tells those apart does not end."""
    claims: list[ClaimOp] = [Op(0, Request(Action.CLAIM, f"a{n}")) for n in range(60)]
    releases: list[ClaimOp] = [Op(0, Request(Action.RELEASE, f"a{n}")) for n in range(60)]
    impossible: ClaimOp = Op(1, Request(Action.READ), frozenset({"nobody"}), 2)
    assert check(Claims(), [*claims, *releases, impossible], PLENTY).outcome is Outcome.INVALID
