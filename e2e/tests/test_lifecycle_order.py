"""When a volume may be detached: once unstaging it was answered, not while it goes on."""

from stormpool import guarantees
from stormpool.events import Call, Event, Reply
from stormpool.history import History
from stormpool.verdict import Outcome

STAGING = {"staging_target_path": "/staging/vol1"}


def call(t: int, method: str) -> Call:
    controller = method.startswith("Controller")
    args, target = ({}, "client1") if controller else (STAGING, "")
    return Call(t, f"{method} {t}", "zfs", "client1", method, "vol1", target, args=args, sent=t)


def outcome(*events: Event) -> Outcome:
    stage = call(1, "NodeStageVolume")
    return guarantees.lifecycle_order(History([stage, Reply(2, stage.id, told=2), *events])).outcome


def test_a_detach_while_unstaging_goes_on() -> None:
    unstage, detach = call(3, "NodeUnstageVolume"), call(4, "ControllerUnpublishVolume")
    assert outcome(unstage, detach, Reply(5, unstage.id, told=5)) is Outcome.INVALID
    assert (
        outcome(unstage, Reply(4, unstage.id, told=4), call(5, "ControllerUnpublishVolume")) is Outcome.VALID
    )


def test_an_answer_that_was_lost_leaves_it_unsure_what_was_done() -> None:
    stage, detach = call(1, "NodeStageVolume"), call(3, "ControllerUnpublishVolume")
    history = History([stage, Reply(2, stage.id), detach])
    assert guarantees.lifecycle_order(history).outcome is Outcome.VALID


def test_unstaging_what_is_unstaged_holds_up_no_detach() -> None:
    unstage, again = call(3, "NodeUnstageVolume"), call(5, "NodeUnstageVolume")
    assert (
        outcome(unstage, Reply(4, unstage.id, told=4), again, call(6, "ControllerUnpublishVolume"))
        is Outcome.VALID
    )
