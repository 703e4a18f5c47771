"""A node that goes down takes with it what was on it; that breaks no guarantee by itself."""

from collections.abc import Iterator

from stormpool.checkers.lifecycle_order import lifecycle_order
from stormpool.checkers.published_is_unpublished import published_is_unpublished
from stormpool.checkers.recovered_task_is_the_same import recovered_task_is_the_same
from stormpool.events import Books, Call, Down, Event, Observed, Operation, Process, Reply
from stormpool.history import History
from stormpool.verdict import Outcome

STAGING, TARGET = {"staging_target_path": "/s"}, {"target_path": "/t", "staging_target_path": "/s"}
CRASH: list[Event] = [Down(50, "client1")]
SETTLED: list[Event] = [Books(90, {"vol1": []}, [], settled_in=1.0)]


def can() -> Iterator[Event]:
    """The plugin attaches and stages."""
    yield Call(1, "c", "zfs", "client1", "ControllerGetCapabilities", sent=1)
    yield Reply(2, "c", result={"capabilities": '[{"rpc":{"type":"PUBLISH_UNPUBLISH_VOLUME"}}]'})
    yield Call(1, "n", "zfs", "client1", "NodeGetCapabilities", sent=1)
    yield Reply(2, "n", result={"capabilities": '[{"rpc":{"type":"STAGE_UNSTAGE_VOLUME"}}]'})


def rpc(t: int, method: str, args: dict[str, str]) -> Iterator[Event]:
    target = "client1" if method.startswith("Controller") else ""
    yield Call(t, f"{t}", "zfs", "client1", method, "vol1", target=target, args=args, sent=t)
    yield Reply(t + 1, f"{t}", told=t + 1)


def used() -> Iterator[Event]:
    yield from can()
    yield from rpc(10, "ControllerPublishVolume", {})
    yield from rpc(20, "NodeStageVolume", STAGING)
    yield from rpc(30, "NodePublishVolume", TARGET)


def test_what_was_staged_there_is_gone() -> None:
    after = [*rpc(60, "ControllerUnpublishVolume", {})]
    assert lifecycle_order(History([*used(), *after])).outcome is Outcome.INVALID
    assert lifecycle_order(History([*used(), *CRASH, *after])).outcome is Outcome.VALID


def test_nothing_is_staged_there_for_a_task_that_comes_after() -> None:
    verdict = lifecycle_order(History([*used(), *CRASH, *rpc(60, "NodePublishVolume", TARGET)]))
    assert [witness.what for witness in verdict.witnesses] == [
        "NodePublishVolume of vol1 on client1 at 0.000 s: it was not staged at /s"
    ]


def test_only_what_is_attached_is_left_to_be_undone() -> None:
    verdict = published_is_unpublished(History([*used(), *CRASH, *SETTLED]))
    assert [witness.rpcs for witness in verdict.witnesses] == [["10"]]
    undone = [*rpc(60, "ControllerUnpublishVolume", {})]
    verdict = published_is_unpublished(History([*used(), *CRASH, *undone, *SETTLED]))
    assert verdict.outcome is Outcome.VALID


def test_a_task_on_it_need_not_go_on() -> None:
    went: list[Event] = [
        Operation(1, "attach", "vol1", 10, "alloc", "client1"),
        Observed(11, "client1", processes=[Process(1, 1, "writer", alloc="alloc")]),
        Observed(51, "client1"),
        Operation(80, "run", "vol1", 81, "alloc", "client1"),
    ]
    assert recovered_task_is_the_same(History(went)).outcome is Outcome.INVALID
    assert recovered_task_is_the_same(History([*went, *CRASH])).outcome is Outcome.UNKNOWN
