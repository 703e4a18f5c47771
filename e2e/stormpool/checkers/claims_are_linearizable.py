"""The claims of a volume are kept as if by one who answers one after another (Herlihy and Wing, 1990)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from stormpool.events import SECOND, Leader, Operation, Volume
from stormpool.history import NEVER, History
from stormpool.models.claims import REFUSED, Action, Answer, ClaimOp, Claims, Holders, Request
from stormpool.models.linearizability import Op, Result, check
from stormpool.verdict import Outcome, Verdict, Witness, guarantee, seconds

BUDGET = 2_000_000  # steps for one volume: some seconds
AROUND = 5 * SECOND  # of an election, in which a server that no longer leads may still answer
ACTIONS = {"attach": Action.CLAIM, "detach": Action.RELEASE, "read": Action.READ}


@guarantee("claims are linearizable")
def claims_are_linearizable(history: History) -> Verdict:
    """Claims, releases and reads of a volume each take effect at one instant between their begin and end.

    In the order of these instants a claim on a volume for one writer is taken only while nobody else holds
    it, refused only while somebody does, and a read shows just those who hold it. A claim is taken between
    when a job was submitted and when its task was seen to run; it is released between when the job was
    stopped, if its task then still ran, and when it was seen to be gone. What failed may have taken effect at
    any later time, or never. Where no order is found but for reads around an election, which a server that no
    longer leads may have answered, that is told apart. A search that does not end is unknown.
    """
    found = [_judge(history, *each) for each in sorted(_by_volume(history).items())]
    verdict = claims_are_linearizable.found(
        sum(each.judged for each in found),
        [each.witness for each in found if each.witness],
        nothing="no volume was claimed",
        apart=[each.apart for each in found if each.apart],
    )
    doubts = [each.doubt for each in found if each.doubt]
    if doubts and verdict.outcome is not Outcome.INVALID:
        return msgspec.structs.replace(verdict, outcome=Outcome.UNKNOWN, why=doubts[0])
    return verdict


@dataclass(frozen=True)
class _Found:
    """What came of one volume."""

    judged: int = 0
    witness: Witness | None = None
    apart: str = ""
    doubt: str = ""


def _by_volume(history: History) -> dict[str, list[Operation]]:
    done: dict[str, list[Operation]] = defaultdict(list)
    for event in history.of(Operation):
        if event.name in ACTIONS:
            done[event.subject].append(event)
    return done


def _judge(history: History, volume: str, done: list[Operation]) -> _Found:
    one_writer = {event.volume: event.one_writer for event in history.of(Volume)}
    model = Claims(single=one_writer.get(volume, True))
    ops = _all_named([_op(event) for event in done])
    result = check(model, ops, BUDGET)
    if result.outcome is Outcome.UNKNOWN:
        return _Found(doubt=f"no order of what was done to {volume} was found in {result.steps} steps")
    if result.outcome is Outcome.VALID:
        return _Found(len(done))
    loose = list(_loose(ops, [event.t for event in history.of(Leader)]))
    if loose != ops and check(model, loose, BUDGET).outcome is Outcome.VALID:
        return _Found(len(done), apart=f"what was read of {volume} around an election")
    return _Found(len(done), _witness(volume, model, result, done))


def _op(event: Operation) -> ClaimOp:
    """An operation of a history as one of the model; of one that failed nobody knows the answer."""
    request = Request(ACTIONS[event.name], event.alloc)
    refused = event.error.startswith(REFUSED)
    if event.error and not refused:
        return Op(event.t, request, process=event.node)
    answer: Answer = frozenset(event.held) if event.name == "read" else not refused
    return Op(event.t, request, answer, event.ended, event.node)


def _all_named(ops: list[ClaimOp]) -> list[ClaimOp]:
    """With claims of which nobody got to know the allocation made those of whom they can have been.

    That is somebody whom only a read showed, or somebody never seen. When it was released nobody knows.
    """
    nameless = [
        op for op in ops if op.input.action is Action.CLAIM and op.ret == NEVER and not op.input.alloc
    ]
    if not nameless:
        return ops
    shown = {alloc for op in ops if isinstance(op.output, frozenset) for alloc in op.output}
    strangers = sorted(shown - {op.input.alloc for op in ops})
    first = min(op.call for op in nameless)
    calls = [*((first, name) for name in strangers), *((op.call, f"?{op.call}") for op in nameless)]
    named = [op for op in ops if op not in nameless]
    named += [Op(call, Request(Action.CLAIM, name)) for call, name in calls]
    return [*named, *(Op(call, Request(Action.RELEASE, name)) for call, name in calls)]


def _loose(ops: Iterable[ClaimOp], elections: Sequence[int]) -> Iterable[ClaimOp]:
    """Without what rests on what was read around an election: reads, and when a claim was gone."""
    for op in ops:
        near = any(op.call <= at + AROUND and op.ret >= at - AROUND for at in elections)
        if not near or op.input.action is Action.CLAIM:
            yield op
        elif op.input.action is Action.RELEASE:
            yield replace(op, output=None, ret=NEVER)


def _witness(volume: str, model: Claims, result: Result[Request, Answer], done: list[Operation]) -> Witness:
    holders = model.init()
    for op in result.order:
        _, holders = model.step(holders, op)
    due = result.stuck[0]
    concerned = {*holders, due.input.alloc, *(due.output if isinstance(due.output, frozenset) else ())}
    nodes = {event.node for event in done if event.node and event.alloc in concerned} | {due.process} - {""}
    return Witness(
        f"{_told(due)} {volume} from {seconds(due.call)} to {seconds(due.ret)}, when {_named(holders)} held "
        f"it: of its {len(done)} operations no order explains more than {len(result.order)}",
        due.call,
        due.ret,
        sorted(nodes or {event.node for event in done if event.node}),
    )


def _told(op: ClaimOp) -> str:
    who = _named([op.input.alloc] if op.input.alloc else [])
    if isinstance(op.output, frozenset):
        return f"the servers showed {_named(op.output)} to hold"
    if op.input.action is Action.RELEASE:
        return f"{who} released"
    return f"{who} claimed" if op.output else "a claim was refused on"


def _named(allocs: Iterable[str] | Holders) -> str:
    return " and ".join(f"allocation {alloc[:8]}" for alloc in sorted(allocs)) or "nobody"
