"""Whether what clients saw can have come from a sequential model: linearizability.

Each operation takes effect at one instant between its call and its answer (Herlihy and Wing,
"Linearizability: A Correctness Condition for Concurrent Objects", 1990). The search is that of Wing and Gong
("Testing and Verifying Concurrent Objects", 1993) with the memory of Lowe ("Testing for Linearizability",
2017): operations are put in order one by one, and no configuration is looked into twice. What is added here
is argued where it is done. No clock is read: the limit is a number of steps, past which the outcome is
unknown.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from stormpool.history import NEVER
from stormpool.verdict import Outcome

S = TypeVar("S", bound=Hashable)
I = TypeVar("I")  # noqa: E741  what is asked
O = TypeVar("O")  # noqa: E741  what is answered


@dataclass(frozen=True, slots=True)
class Op(Generic[I, O]):
    """One operation: asked at `call`, answered at `ret` with `output`.

    One without an answer, its output None and its `ret` never, took effect at any time after its call, or not
    at all. Intervals are closed: of two that touch, either may come first.
    """

    call: int
    input: I
    output: O | None = None
    ret: int = NEVER
    process: str = ""


class Model(Protocol[S, I, O]):
    """What a system should do when asked one thing after another.

    Deterministic: what may go either way is not answered (output None), and such a step is always in order.
    """

    def init(self) -> S:
        """The state before anything was asked."""

    def step(self, state: S, op: Op[I, O]) -> tuple[bool, S]:
        """Whether an operation may come now with its answer, and the state after it."""

    def reads(self, op: Op[I, O]) -> bool:
        """Whether an operation with its answer leaves every state in which it may come as it is."""


@dataclass(frozen=True)
class Result(Generic[I, O]):
    """What came of a check.

    Valid: `order` is an order that explains everything. Invalid: the longest that was found, and after it one
    of `stuck` had to come, the first of them before anything else was called; none could.
    """

    outcome: Outcome
    steps: int
    order: Sequence[Op[I, O]]
    stuck: Sequence[Op[I, O]] = ()


def check(model: Model[S, I, O], ops: Iterable[Op[I, O]], budget: int) -> Result[I, O]:
    """Whether a history is linearizable; unknown when `budget` steps of the model do not suffice."""
    search = _Search(model, ops)
    outcome = search.run(budget)
    if outcome is Outcome.VALID:
        return Result(outcome, search.steps, search.order())
    return Result(outcome, search.steps, *search.longest())


HEAD = 0  # the entry before the first
ANSWERED, FORCED = -1, -2  # kinds of a frame; that of an operation without an answer is its number


# One choice made: the entry, its kind, and all there was before it: state, base, window, used. A tuple: there
# are as many as operations.
_Frame = tuple[int, int, S, int, int, int]


class _Search(Generic[S, I, O]):
    """The search: a doubly linked list of calls and answers by their times, and the choices made.

    What has been placed is lifted out of the list. Of the operations with an answer, in the order of their
    calls, those before `base` are placed, and `window` has a bit for each after it: as concurrency is small,
    so is this, however long the history. Of those without an answer, `used` has a bit for each placed.
    """

    def __init__(self, model: Model[S, I, O], ops: Iterable[Op[I, O]]) -> None:
        ordered = sorted(ops, key=attrgetter("call"))
        self.steps = 0
        self._step = model.step
        self._answered = [op for op in ordered if op.ret < NEVER]
        self._open = [op for op in ordered if op.ret >= NEVER]
        self._reads = [model.reads(op) for op in self._answered]
        self._link()
        self._left = len(self._answered)
        self._frames: list[_Frame[S]] = []
        self._most: list[_Frame[S]] = []
        self._shared = 0
        self._known: dict[tuple[int, int, S], list[int]] = {}
        self._moves: dict[S, _Moves[S]] = {}
        self._state = model.init()
        self._base = self._window = self._used = 0
        self._at, self._choice = self._next[HEAD], 0

    def _link(self) -> None:
        """Make the list; a call comes before an answer of the same time."""
        events = [(op.call, 0, number) for number, op in enumerate(self._answered)]
        events += [(op.ret, 1, number) for number, op in enumerate(self._answered)]
        events.sort()
        size = len(events) + 2
        self._next = list(range(1, size + 1))
        self._prev = list(range(-1, size - 1))
        self._who = [-1] * size  # entry → operation, of calls only
        self._answer = [HEAD] * size  # entry of a call → that of its answer
        self._may = [0] * size  # entry of an answer → how many without an answer were called by then
        calls = [0] * len(self._answered)
        opened = [op.call for op in self._open]
        for entry, (time, ends, number) in enumerate(events, 1):
            if ends:
                self._answer[calls[number]] = entry
                self._may[entry] = bisect_right(opened, time)
            else:
                self._who[entry] = number
                calls[number] = entry

    def run(self, budget: int) -> Outcome:
        """Place operations until all that were answered are placed."""
        while self._left:
            if self.steps >= budget:
                return Outcome.UNKNOWN
            if not (self._place() or self._place_open() or self._back()):
                return Outcome.INVALID
        return Outcome.VALID

    def order(self) -> list[Op[I, O]]:
        """What has been placed, in order."""
        return self._ops(self._frames)

    def _ops(self, frames: list[_Frame[S]]) -> list[Op[I, O]]:
        return [
            self._answered[self._who[entry]] if kind < 0 else self._open[kind] for entry, kind, *_ in frames
        ]

    def _place(self) -> bool:
        """Place one of the operations called before anybody's answer, from `at` on.

        One that only reads is placed for good: wherever an order has it later, it can as well come now, for
        it may, and the others see no difference.
        """
        state, step, who, ops = self._state, self._step, self._who, self._answered
        entry = self._at
        while (number := who[entry]) >= 0:
            self.steps += 1
            may, after = step(state, ops[number])
            if may:
                forced = self._reads[number]
                base, window = _with(self._base, self._window, number)
                if self._new((base, window, after), self._used):
                    self._push(entry, FORCED if forced else ANSWERED, after)
                    self._base, self._window = base, window
                    self._lift(entry)
                    return True
                if forced:
                    break  # it was to come now, and that is known to lead nowhere
            entry = self._next[entry]
        self._at = entry
        return False

    def _place_open(self) -> bool:
        """Place one without an answer that was called by now and changes the state, from `choice` on.

        Only where nothing else can go on: one that changes nothing, or comes last, may as well never happen.
        """
        limit = self._may[self._at]
        if self._choice >= limit:
            return False
        moves = self._moves.setdefault(self._state, _Moves())
        self.steps += moves.extend(self._state, self._step, self._open[moves.upto : limit])
        for place in range(bisect_left(moves.numbers, self._choice), bisect_left(moves.numbers, limit)):
            number, after = moves.numbers[place], moves.after[place]
            self.steps += 1
            used = self._used | 1 << number
            if used != self._used and self._new((self._base, self._window, after), used):
                self._push(self._at, number, after)
                self._used = used
                return True
        return False

    def _back(self) -> bool:
        """Undo choices until there may be another one; False when there is none."""
        if len(self._frames) > len(self._most):
            self._note()
        while self._frames:
            entry, kind, self._state, self._base, self._window, self._used = self._frames.pop()
            self._shared = min(self._shared, len(self._frames))
            if kind >= 0:
                self._at, self._choice = entry, kind + 1
                return True
            self._unlift(entry)
            if kind == ANSWERED:
                self._at, self._choice = self._next[entry], 0
                return True
        return False

    def _note(self) -> None:
        """Remember the most choices there were; of those remembered before, `shared` are still the same."""
        self._most[self._shared :] = self._frames[self._shared :]
        self._shared = len(self._frames)

    def longest(self) -> tuple[list[Op[I, O]], list[Op[I, O]]]:
        """The longest order there was, and the operations one of which had to come next."""
        order = self._ops(self._most)
        placed = {id(op) for op in order}
        left = [op for op in self._answered if id(op) not in placed]
        first = min(op.ret for op in left)
        return order, sorted((op for op in left if op.call <= first), key=attrgetter("ret"))

    def _new(self, key: tuple[int, int, S], used: int) -> bool:
        """Whether a configuration is to be looked into, and remember it.

        One that differs from a known one only in that more operations without an answer are used up leads to
        nothing new: whatever it can still do, that one can, too.
        """
        known = self._known.get(key)
        if known is None:
            self._known[key] = [used]
            return True
        self.steps += len(known)
        if any(fewer & used == fewer for fewer in known):
            return False
        known[:] = [more for more in known if used & more != used]
        known.append(used)
        return True

    def _push(self, entry: int, kind: int, after: S) -> None:
        """Write a choice down, go on from the state after it, and look at the list from its begin."""
        self._frames.append((entry, kind, self._state, self._base, self._window, self._used))
        self._state = after
        self._at, self._choice = self._next[HEAD], 0

    def _lift(self, call: int) -> None:
        """Take an operation out of the list."""
        after, before, answer = self._next, self._prev, self._answer[call]
        after[before[call]], before[after[call]] = after[call], before[call]
        after[before[answer]], before[after[answer]] = after[answer], before[answer]
        self._left -= 1
        self._at = after[HEAD]

    def _unlift(self, call: int) -> None:
        """Put it back where it was."""
        after, before, answer = self._next, self._prev, self._answer[call]
        after[before[answer]] = before[after[answer]] = answer
        after[before[call]] = before[after[call]] = call
        self._left += 1


class _Moves(Generic[S]):
    """Which operations without an answer change one state, and into what; found out as far as was asked."""

    def __init__(self) -> None:
        self.upto = 0
        self.numbers: list[int] = []
        self.after: list[S] = []

    def extend(self, state: S, step: Callable[[S, Op[I, O]], tuple[bool, S]], ops: Sequence[Op[I, O]]) -> int:
        """Try the next of them; returns how many were tried."""
        for number, op in enumerate(ops, self.upto):
            may, after = step(state, op)
            if may and after != state:
                self.numbers.append(number)
                self.after.append(after)
        self.upto += len(ops)
        return len(ops)


def _with(base: int, window: int, number: int) -> tuple[int, int]:
    """A window with one more operation in it, moved on past what is placed from its begin."""
    window |= 1 << (number - base)
    if window & 1:
        placed = (~window & (window + 1)).bit_length() - 1
        return base + placed, window >> placed
    return base, window
