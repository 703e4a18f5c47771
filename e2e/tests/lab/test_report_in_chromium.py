"""The report in a real browser: it draws, it moves, it is smooth, and no name in it does anything.

Its pictures are kept under the directory named by STORMPOOL_ARTEFACTS (default: runs/artefacts).
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from stored import about
from storm import BEGAN, storm

from chromium import Browser, chromium, users_of
from harness import GOLDEN, ROOT
from stormpool import guarantees, reporter
from stormpool.events import SECOND, Call, Fault, Operation, Phase, Reply
from stormpool.history import History, encode
from stormpool.judge import judge
from stormpool.report.page import Judgement
from stormpool.store import RunDirectory
from stormpool.verdict import Guarantee

pytestmark = pytest.mark.lab

HISTORIES = Path(__file__).parents[3] / "fixtures" / "histories"
BAD = HISTORIES / "bad" / "serialized-controller-calls" / "nomad-1.6.0.jsonl"
GOOD = HISTORIES / "good" / "nomad-1.10.5-read-back.jsonl"
SLOWEST = 20.0  # milliseconds a frame has, for 50 of them a second

# Each would set `caught`, or end what it stands in, or turn the page around, or fill it.
HOSTILE = [
    "</script><script>window.caught=1</script>",
    "<img src=x onerror=window.caught=1>",
    "\"><svg onload='window.caught=1'>",
    "javascript:window.caught=1",
    "]]><!--<style>*{display:none}</style>",
    "\u202etxt.exe\u2067\u200f",
    "a\u0301\u0300" * 200,
    "${window.caught=1}{{caught}}%00\x00\x1b[2J",
    "x" * 10_000,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as up:
        yield up


@dataclass
class Opened:
    """A report that is open."""

    browser: Browser

    def window(self) -> tuple[float, float]:
        """The seconds that the timeline shows."""
        self.browser.settle()
        shown = str(self.browser.value("document.getElementById('window').textContent"))
        start, _, end = shown.partition("(")[0].replace(" s", "").partition(" to ")
        return float(start), float(end)

    def place(self, name: str) -> tuple[float, float, float, float]:
        """Where an element is: left, top, width, height."""
        box = self.browser.value(
            f"(() => {{ const b = document.getElementById('{name}').getBoundingClientRect();"
            "return [b.left, b.top, b.width, b.height]; })()"
        )
        return box[0], box[1], box[2], box[3]

    def text(self, name: str) -> str:
        """What an element shows."""
        self.browser.settle()
        return str(self.browser.value(f"document.getElementById('{name}').innerText"))


def report(
    where: Path,
    history: History,
    judged: list[Guarantee],
    *,
    error: str = "",
    log: str = "",
    name: str = "a story",
) -> Path:
    run = RunDirectory.create(where, "saved")
    told = about(scenario=name, error=error)
    told.began_wall = BEGAN
    run.write_about(told)
    run.history.write_bytes(b"".join(encode(event) for event in history.events))
    (run.logs / "server1.log").write_text(log, encoding="utf-8")
    (run.logs / "client1").mkdir()
    (run.logs / "client1" / "writer.stdout.0").write_text("wrote 1\n")
    reporter.write(run, Judgement(told, history, judge(run, history, judged).verdicts))
    return run.report


def saved(path: Path) -> History:
    return History.decode(path.read_bytes())


def logged(*lines: tuple[str, str]) -> str:
    """An agent's log whose lines come a second apart."""
    return "".join(
        f"    2027-01-15T08:00:{number:02}.000Z [{level}] {text}\n"
        for number, (level, text) in enumerate(lines)
    )


def opened(browser: Browser, page: Path) -> Opened:
    browser.size(1400, 1000)
    browser.open(page)
    browser.settle()
    return Opened(browser)


def quiet(browser: Browser) -> None:
    """Nothing was complained of, and nothing but files asked for."""
    assert browser.complaints() == []
    assert all(url.startswith("file:") for url in browser.requests())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 900, 420])
def test_a_red_report_fits_and_shows_its_first_breach(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    history = saved(BAD)
    page = opened(browser, report(tmp_path, history, [guarantees.serialized_controller_calls]))
    browser.size(width, 1000, dark=dark)
    first = guarantees.serialized_controller_calls(history).witnesses[0]
    start, end = page.window()
    assert start < first.start / SECOND <= first.end / SECOND < end
    assert end - start < 5
    assert "breach 1 of 5" in page.text("breach")
    assert browser.value("document.documentElement.scrollWidth") <= width
    picture = browser.screenshot(f"report-red-{width}-{'dark' if dark else 'light'}", whole=True)
    assert picture.stat().st_size > 20_000
    quiet(browser)


@pytest.mark.parametrize("kind", ["green", "unknown", "unfinished"])
def test_reports_of_other_ends(browser: Browser, tmp_path: Path, kind: str) -> None:
    history = saved(GOOD) if kind == "green" else History([Phase(0, "up"), Phase(SECOND, "down")])
    error = "the agent of server1 ended with 1" if kind == "unfinished" else ""
    judged = [] if kind == "unfinished" else [guarantees.serialized_controller_calls]
    opened(browser, report(tmp_path, history, judged, error=error))
    outcome = browser.value("document.querySelector('header').className")
    assert outcome == ("valid" if kind == "green" else "unknown")
    browser.screenshot(f"report-{kind}", whole=True)
    quiet(browser)


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    calls, ends = [], []
    for number, name in enumerate(HOSTILE):
        call = Call(
            SECOND + number, str(number), name, name, "DeleteVolume", name, name, {name: name}, sent=SECOND
        )
        calls.append(call)
        ends.append(Reply(2 * SECOND, call.id, name, name, {name: name}))
    faults = [
        Fault(SECOND, number, name, "injected", name, "0", name, name) for number, name in enumerate(HOSTILE)
    ]
    done = [Operation(SECOND, "attach", name, 2 * SECOND, name, name, name) for name in HOSTILE]
    phases = [Phase(number, name) for number, name in enumerate(HOSTILE)]
    log = logged(*(("WARN", name) for name in HOSTILE))
    history = History([*calls, *ends, *faults, *done, *phases])
    page = opened(
        browser,
        report(
            tmp_path,
            history,
            [guarantees.serialized_controller_calls],
            error=HOSTILE[0],
            log=log,
            name=HOSTILE[0],
        ),
    )
    left, top, width, height = page.place("canvas")
    for y in range(80, int(height), 12):  # point at everything, so that all of it is told
        browser.mouse("mouseMoved", left + width * 0.6, top + y)
    browser.click(left + width * 0.6, top + height * 0.5)
    for key in ("0", "n", "p", "+", "-"):
        browser.key(key)
    browser.settle()
    assert browser.value("window.caught === undefined")
    assert browser.value("document.scripts.length") == 2
    assert browser.value("document.querySelectorAll('img, iframe, object, embed, link').length") == 0
    assert browser.value("document.documentElement.scrollWidth") <= 1400
    assert not set("\u202e\u2067\u200f\x1b") & set(str(browser.value("document.documentElement.textContent")))
    browser.screenshot("report-hostile", whole=True)
    quiet(browser)


def test_the_timeline_zooms_and_pans(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, report(tmp_path, saved(BAD), [guarantees.serialized_controller_calls]))
    left, top, width, _ = page.place("canvas")
    browser.key("0")
    whole = page.window()
    assert whole[0] == 0
    x, y = left + width * 0.75, top + 200
    before = whole[0] + (whole[1] - whole[0]) * (width * 0.75 - 158) / (width - 158)
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-600)
    zoomed = page.window()
    after = zoomed[0] + (zoomed[1] - zoomed[0]) * (width * 0.75 - 158) / (width - 158)
    assert zoomed[1] - zoomed[0] < (whole[1] - whole[0]) / 2
    assert after == pytest.approx(before, abs=0.05)  # what was under the pointer still is
    browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseMoved", x - 100, y, button="left", buttons=1)
    browser.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
    dragged = page.window()
    assert dragged[0] > zoomed[0]
    assert dragged[1] - dragged[0] == pytest.approx(zoomed[1] - zoomed[0], abs=0.01)
    browser.key("ArrowLeft")
    assert page.window()[0] < dragged[0]
    browser.key("+")
    assert page.window()[1] - page.window()[0] < dragged[1] - dragged[0]
    browser.click(left + 158 + 5, top + 20)  # in the strip above
    assert page.window()[0] == 0
    browser.screenshot("report-zoomed")
    quiet(browser)


def test_two_fingers_zoom(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, report(tmp_path, saved(BAD), [guarantees.serialized_controller_calls]))
    left, top, _, _ = page.place("canvas")
    before = page.window()

    def fingers(kind: str, *apart: int) -> None:
        points = [{"x": left + 500 + each, "y": top + 150, "id": i} for i, each in enumerate(apart)]
        browser.ask("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    fingers("touchStart", 0)
    fingers("touchStart", 0, 50)
    for each in (80, 120, 200):
        fingers("touchMove", 0, each)
    fingers("touchEnd")
    after = page.window()
    assert after[1] - after[0] < (before[1] - before[0]) / 2
    quiet(browser)


def test_the_line_that_runs_it_again_is_copied(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, report(tmp_path, saved(BAD), [guarantees.serialized_controller_calls]))
    left, top, width, height = page.place("copy")
    browser.click(left + width / 2, top + height / 2)
    assert page.text("copy") == "copied"


def test_the_next_breach_is_a_key_away(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, report(tmp_path, saved(BAD), [guarantees.serialized_controller_calls]))
    browser.key("n")
    assert "breach 2 of 5" in page.text("breach")
    browser.key("p")
    browser.key("p")
    assert "breach 5 of 5" in page.text("breach")


def test_a_click_pins_a_call_and_takes_the_log_along(browser: Browser, tmp_path: Path) -> None:
    call = Call(
        5 * SECOND, "a", "zfs", "client1", "DeleteVolume", "vol1", args={"secret": "none"}, sent=5 * SECOND
    )
    history = History([call, Reply(6 * SECOND, "a", "INTERNAL", "no such pool"), Phase(50 * SECOND, "done")])
    log = logged(*(("WARN" if number % 10 == 0 else "DEBUG", f"line {number}") for number in range(50)))
    page = opened(browser, report(tmp_path, history, [guarantees.serialized_controller_calls], log=log))
    left, top, width, _ = page.place("canvas")
    x = left + 158 + (width - 158) * 5.5 / 50
    browser.mouse("mouseMoved", x, top + 40 + 34 + 19 + 8)  # below the strip, the axis and the node's name
    browser.settle()
    assert "DeleteVolume of vol1 by zfs on client1" in page.text("tip")
    assert "INTERNAL: no such pool" in page.text("tip")
    browser.click(x, top + 40 + 34 + 19 + 8)
    assert "took\n1.000 s" in page.text("pinned")
    assert browser.value("document.querySelector('.line.at').innerText").endswith("line 5")
    quiet(browser)


def test_the_log_is_filtered_by_words_source_and_level(browser: Browser, tmp_path: Path) -> None:
    history = History([Phase(0, "up"), Phase(50 * SECOND, "done")])
    log = logged(*(("WARN" if number % 10 == 0 else "DEBUG", f"line {number}") for number in range(50)))
    page = opened(browser, report(tmp_path, history, [guarantees.serialized_controller_calls], log=log))

    def choose(name: str, value: str, event: str) -> str:
        browser.value(
            f"(() => {{ const e = document.getElementById('{name}'); e.value = '{value}';"
            f"e.dispatchEvent(new Event('{event}')); }})()"
        )
        return page.text("count")

    assert page.text("count") == "50 lines"
    assert choose("filter", "LINE 4", "input") == "11 lines"
    assert choose("level", "bad", "change") == "1 line"
    assert choose("filter", "", "input") == "5 lines"
    choose("level", "", "change")
    assert choose("source", "apart", "change") == "1 line"
    assert "wrote 1" in page.text("log")
    quiet(browser)


def test_groups_fold(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, report(tmp_path, saved(BAD), [guarantees.serialized_controller_calls]))
    browser.key("0")
    browser.value("document.getElementById('stage').scrollTop = 0")
    before = browser.value("document.getElementById('stage').scrollHeight")
    left, top, _, _ = page.place("canvas")
    browser.click(left + 40, top + 40 + 34 + 9)  # the first group's name
    browser.settle()
    assert browser.value("document.getElementById('stage').scrollHeight") < before


def test_without_scripts_the_pictures_are_there(browser: Browser, tmp_path: Path) -> None:
    file = report(tmp_path, saved(BAD), [guarantees.serialized_controller_calls])
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        opened_file = file.absolute()
        browser.size(1400, 1000)
        browser.open(opened_file)
        browser.screenshot("report-without-scripts", whole=True)
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.value("getComputedStyle(document.querySelector('.still')).display") == "block"
    assert browser.value("getComputedStyle(document.querySelector('main')).display") == "none"


def test_a_hundred_thousand_events_stay_smooth(browser: Browser, tmp_path: Path) -> None:
    """By processor time, which other labs on the host do not change: half of what a frame has.

    The rest is for bringing it to the screen; how frames follow each other is told by `e2e/bench/report.py`.
    """
    page = opened(browser, storm(tmp_path, 100_000).report)
    browser.key("0")
    left, top, _, _ = page.place("canvas")
    wheel = (
        "(i) => canvas.dispatchEvent(new WheelEvent('wheel', {bubbles: true, cancelable: true, "
        f"clientX: {left + 600}, clientY: {top + 200}, deltaY: i % 80 < 40 ? -80 : 80}}))"
    )
    before = browser.busy()
    frames = browser.frames(wheel)
    assert (browser.busy() - before) / len(frames) <= SLOWEST / 2
    browser.key("0")
    browser.screenshot("report-storm", whole=True)
    quiet(browser)


def test_what_the_policy_refuses_is_complained_of(browser: Browser, tmp_path: Path) -> None:
    """So that no complaint means that nothing was tried."""
    opened(browser, report(tmp_path, saved(GOOD), [guarantees.serialized_controller_calls]))
    for attempt in (
        "document.body.setAttribute('style', 'color: red')",
        "document.body.append(Object.assign(new Image(), {src: 'https://example.com/x.png'}))",
        "(() => { try { document.body.innerHTML = '<b>x</b>' } catch { console.error('refused') } })()",
    ):
        before = len(browser.complaints())
        browser.value(f"void {attempt}")
        browser.settle()
        assert len(browser.complaints()) > before, attempt


def test_a_real_run_is_told_to_allure_and_junit_and_looked_at(browser: Browser, tmp_path: Path) -> None:
    out, allure, junit = tmp_path / "runs", tmp_path / "allure", tmp_path / "junit.xml"
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        GOLDEN,
        "--nomad=1.6.0",
        "--seed=1",
    ]
    argv += [f"--out={out}", f"--alluredir={allure}", f"--junitxml={junit}"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stdout[-2000:]
    (run,) = out.iterdir()
    (result,) = (json.loads(path.read_text()) for path in allure.glob("*-result.json"))
    labels = {(label["name"], label["value"]) for label in result["labels"]}
    assert {("suite", "csi"), ("severity", "critical")} <= labels
    assert [step["name"] for step in result["steps"]][:5] == [
        "prepare",
        "up",
        "agents",
        "plugins",
        "workload",
    ]
    assert {each["name"] for each in result["attachments"]} >= {"report.html", "trace.json"}
    assert str(run) in junit.read_text()
    page = opened(browser, run / "report.html")
    assert "breach 1 of 5" in page.text("breach")
    assert re.search(r"^all logs \([0-9]{3,}\)", page.text("source"), re.MULTILINE)
    browser.screenshot("report-real", whole=True)
    quiet(browser)


def test_a_browser_leaves_nothing() -> None:
    homes: list[Path] = []

    def fails_in_the_middle() -> None:
        with chromium() as up:
            homes.extend(set(Path("/tmp").glob("stormpool-chromium-*")) - before)
            assert users_of(str(homes[0]))
            up.value("nothing.of.that.name")

    before = set(Path("/tmp").glob("stormpool-chromium-*"))
    with pytest.raises(RuntimeError, match="nothing is not defined"):
        fails_in_the_middle()
    assert not homes[0].exists()
    assert not users_of(str(homes[0]))
