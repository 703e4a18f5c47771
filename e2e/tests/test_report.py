"""The report's page: what plugins and scenarios say is text, never markup; and what must be seen at once."""

import base64
import hashlib
import json
import re
from html import unescape
from typing import Any

import pytest
from stored import about

from stormpool import guarantees, reporter
from stormpool.events import SECOND, Call, Fault, Phase, Reply
from stormpool.history import History
from stormpool.report.log import Kept, Line
from stormpool.report.page import Judgement, page
from stormpool.report.plain import plain

EVIL = "</script><script>alert(1)</script>"
HIDING = "safe\u202egnp.exe\u2066\u200b\x1b[31m\x00"


def overlapping(name: str = EVIL) -> History:
    calls = [
        Call(start, number, name, name, "ControllerPublishVolume", volume=name, target=name, sent=start)
        for number, start in (("a", SECOND), ("b", SECOND + 10))
    ]
    replies = [Reply(2 * SECOND, "a", message=name), Reply(2 * SECOND, "b", code="INTERNAL")]
    return History([Phase(0, name), *calls, *replies])


def shown(history: History, *, logs: Kept | None = None, error: str = "", name: str = EVIL) -> str:
    verdicts = [guarantees.serialized_controller_calls(history)]
    judgement = Judgement(about(scenario=name, error=error), history, verdicts)
    return page(judgement, logs or Kept(), reporter.dress())


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_names_are_escaped() -> None:
    logs = Kept((Line(SECOND, EVIL, "WARN", plain(EVIL)), Line(None, EVIL, "", plain(EVIL))))
    text = shown(overlapping(), logs=logs, error=EVIL)
    assert text.count("<script") == 2  # the data and the page's own
    assert text.count("</script>") == 2
    assert "&lt;script&gt;alert(1)" in text
    assert EVIL in data_of(text)["words"]
    assert data_of(text)["log"]["timed"]["text"] == [EVIL]


def test_what_hides_or_turns_text_around_is_shown_by_its_number() -> None:
    text = shown(overlapping(HIDING), logs=Kept((Line(1, HIDING, "", plain(HIDING)),)), name=HIDING)
    assert not any(mark in text for mark in "\u202e\u2066\u200b\x1b\x00")
    assert "safe⟨202E⟩gnp.exe⟨2066⟩⟨200B⟩⟨001B⟩[31m⟨0000⟩" in text


def test_a_name_that_would_fill_the_page_is_cut() -> None:
    text = shown(overlapping("x" * 10_000))
    assert "x" * 500 not in text
    assert "(10000 characters)" in text


def test_half_a_character_does_not_keep_a_page_from_being_written() -> None:
    assert "⟨D800⟩" in shown(overlapping("half \ud800")).encode().decode()


def test_the_page_may_run_its_own_script_and_load_nothing() -> None:
    text, dress = shown(overlapping()), reporter.dress()
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    policy = unescape(found[1])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for each in (dress.script, dress.style):
        digest = base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert f">{each}</" in text
    assert not re.search(r"<[^>]+ style=", text)  # the policy would refuse it
    assert not re.search(r'(?:src|href)="', text)


@pytest.mark.parametrize("way", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("])
def test_the_script_makes_no_markup_of_text(way: str) -> None:
    assert way not in reporter.dress().script


def test_a_breach_is_marked_and_told_in_words() -> None:
    text = shown(overlapping())
    assert "nomad 1.6.0 broke: serialized controller calls" in text
    assert "First at 1.000 s to 2.000 s" in text
    assert re.search(r'<rect class="c-attach-call marked"', text)
    breach = data_of(text)["breaches"][0]
    assert [data_of(text)["spans"]["start"][number] for number in breach["spans"]] == [1_000_000, 1_000_000]


def test_what_broke_comes_before_what_held() -> None:
    history = overlapping("vol1")
    verdicts = [guarantees.claims_match_reality(history), guarantees.serialized_controller_calls(history)]
    text = page(Judgement(about(), history, verdicts), Kept(), reporter.dress())
    assert text.index("<b>serialized controller calls") < text.index("<b>claims match reality")


def test_a_run_that_came_to_nothing_still_has_a_page() -> None:
    judgement = Judgement(about(scenario=EVIL, error="the agent of server1 ended"), History([]), [])
    text = page(judgement, Kept(), reporter.dress())
    assert "the run did not finish" in text
    assert "the agent of server1 ended" in text
    assert "No guarantee was judged" in text
    assert '<header class="unknown">' in text


def test_a_run_that_did_not_finish_is_never_green() -> None:
    history = History([Call(1, "a", "zfs", "client1", "DeleteVolume", sent=1), Reply(2, "a")])
    assert '<header class="valid">' in shown(history)
    assert '<header class="unknown">' in shown(history, error="the lab left something behind")


def test_faults_are_a_table_of_what_became_of_them() -> None:
    history = History(
        [
            Fault(1, 0, "KillAgent", "planned"),
            Fault(SECOND, 0, "KillAgent", "injected", "client2", "a", "during"),
            Fault(2 * SECOND, 0, "KillAgent", "healed", "", "a", "during"),
            Fault(1, 1, "HangCall", "planned"),
            Fault(1, 2, "KillPlugin", "planned"),
            Fault(3, 2, "KillPlugin", "failed", why="no such process"),
        ]
    )
    rows = re.findall(r"<tr class=.*?</tr>", shown(history))
    assert [re.findall(r"<td>(.*?)</td>", row) for row in rows] == [
        ["KillAgent", "client2", "during call a", "1.000 s", "2.000 s", "injected"],
        ["HangCall", "", "", "", "", "never came up"],
        ["KillPlugin", "", "", "", "", "failed: no such process"],
    ]


def test_what_is_left_of_the_logs_is_said() -> None:
    text = shown(overlapping(), logs=Kept((Line(1, "a", "", "b"),), left_out=1999, where="/runs/1/logs"))
    assert "1,999 of 2,000 log lines are left out" in text
    assert "/runs/1/logs" in text
