"""The allocations of a run that had datasets: by which design, when each lived, which dataset it had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stormpool.events import AllocView, Design, Life
from stormpool.history import NEVER, History

TASK = "writer"  # the consumer's; whatever else an allocation has is its dataset's


@dataclass
class Lived:
    """One allocation."""

    id: str
    job: str
    node: str
    design: Design
    placed: int  # when the servers first told of it
    stopping: int = NEVER  # when its task ended for good, or the servers held it for one that is to stop
    over: int = NEVER  # when they first held it for over
    ran: bool = False  # the servers told so
    lives: list[Life] = field(default_factory=list)  # of its task, in their order

    @property
    def dataset(self) -> str:
        """The name of the dataset that its task had last; none where it never had one."""
        return next((life.dataset for life in reversed(self.lives) if life.dataset), "")

    def __str__(self) -> str:
        return self.id[:8]


def lived(history: History) -> list[Lived]:
    """The allocations of the designs' jobs, in the order in which they were placed."""
    designs = designs_of(history)
    found: dict[str, Lived] = {}
    for view in history.of(AllocView):
        design = next((each for each in designs if view.alloc.job.startswith(each.jobs)), None)
        if design is not None:
            _note(found.setdefault(view.alloc.id, _placed(view, design)), view)
    ends = _ends(history)
    for one in found.values():
        one.stopping = min(one.stopping, ends.get(one.id, NEVER))
        one.lives = _whole(life for life in history.of(Life) if life.alloc == one.id)
    return list(found.values())


def designs_of(history: History) -> Sequence[Design]:
    """The designs that a run tells of, each once."""
    return list({each.name: each for each in history.of(Design)}.values())


def _placed(view: AllocView, design: Design) -> Lived:
    return Lived(view.alloc.id, view.alloc.job, view.alloc.node, design, view.t)


def _note(one: Lived, view: AllocView) -> None:
    one.ran = one.ran or view.alloc.status == "running"
    over = view.forgotten or not view.alloc.live
    if over or view.alloc.desired != "run":
        one.stopping = min(one.stopping, view.t)
    if over:
        one.over = min(one.over, view.t)


def _ends(history: History) -> dict[str, int]:
    """When each allocation's consumer ended for the last time, as its driver told: clients know then what
    servers are told later.
    """
    found: dict[str, int] = {}
    for rpc in history.rpcs(frozenset({"StartTask", "WaitTask"})):
        alloc, _, rest = rpc.call.task.partition("/")
        if rest.partition("/")[0] != TASK:
            continue
        if rpc.call.method == "StartTask":
            found.pop(alloc, None)
        elif rpc.done:
            found[alloc] = rpc.left
    return found


def _whole(told: Iterable[Life]) -> list[Life]:
    """What was told last of each life."""
    last = {life.life: life for life in told}
    return sorted(last.values(), key=lambda life: life.number)
