"""The report's page: what plugins and scenarios say is text, never markup."""

from stored import about

from stormpool import guarantees
from stormpool.history import Call, History, Phase, Reply
from stormpool.report.page import page

EVIL = "<script>alert(1)</script>"


def overlapping() -> History:
    calls = [
        Call(start, name, EVIL, EVIL, "ControllerPublishVolume", volume=EVIL, target=EVIL, sent=start)
        for name, start in (("a", 10**9), ("b", 10**9 + 10))
    ]
    replies = [Reply(2 * 10**9, "a", message=EVIL), Reply(2 * 10**9, "b")]
    return History([Phase(0, EVIL), *calls, *replies])


def test_names_are_escaped() -> None:
    history = overlapping()
    shown = page(about(scenario=EVIL, error=EVIL), history, [each(history) for each in guarantees.ALL])
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)" in shown


def test_a_breach_is_marked_and_told_in_words() -> None:
    history = overlapping()
    shown = page(about(scenario=EVIL), history, [guarantees.serialized_controller_calls(history)])
    assert "nomad 1.6.0 broke: serialized controller calls" in shown
    assert shown.count("<rect class=marked") == 4  # both calls, in the close picture and the whole one
    assert "The first breach" in shown


def test_a_run_that_came_to_nothing_still_has_a_page() -> None:
    shown = page(about(scenario=EVIL, error="the agent of server1 ended"), History([]), [])
    assert "not everything could be judged" in shown
    assert "the agent of server1 ended" in shown
