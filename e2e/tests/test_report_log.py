"""Logs beside the timeline: read, told once, and kept where they matter."""

from pathlib import Path

import pytest

from stormpool import reporter
from stormpool.events import SECOND
from stormpool.report.log import Line, folded, keep, parse

BEGAN = 1_795_257_612 * SECOND  # 2026-11-21T10:40:12Z


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-11-21T10:40:13.250Z", SECOND * 5 // 4),
        ("2026-11-21T10:40:13Z", SECOND),
        ("2026-11-21T12:40:13.000000001+02:00", SECOND + 1),
        ("2026-11-21T05:10:13-0530", SECOND),
    ],
)
def test_a_time_is_since_the_run_began(stamp: str, at: int) -> None:
    (line,) = parse("server1", [f"    {stamp} [INFO]  nomad.raft: elected: term=2\n"], BEGAN)
    assert line == Line(at, "server1", "INFO", "nomad.raft: elected: term=2")


def test_what_follows_without_a_time_belongs_to_the_line_before() -> None:
    raw = [
        "==> Loaded\n",
        "2026-11-21T10:40:13Z [ERROR] http: failed:\n",
        "  | why\n",
        "2026-11-21T10:40:14Z [WARN] x\n",
    ]
    assert list(parse("server1", raw, BEGAN)) == [
        Line(None, "server1", "", "==> Loaded"),
        Line(SECOND, "server1", "ERROR", "http: failed:\n  | why"),
        Line(2 * SECOND, "server1", "WARN", "x"),
    ]


def test_without_the_wall_clock_no_line_has_a_time() -> None:
    assert [line.t for line in parse("server1", ["2026-11-21T10:40:13Z [INFO] x\n"], 0)] == [None]


def test_what_is_said_over_and_over_is_told_once_a_second() -> None:
    lines = [Line(number * SECOND // 10, "a", "ERROR", "again") for number in range(12)]
    assert [(line.t, line.text) for line in folded(lines)] == [
        (0, "again"),
        (SECOND, "again  (9 more times in the second before)"),
    ]


def test_what_is_near_a_breach_or_bad_is_kept_first() -> None:
    lines = [
        Line(number * SECOND, "a", "ERROR" if number == 90 else "DEBUG", str(number)) for number in range(100)
    ]
    kept = keep([*lines, Line(None, "b", "", "no time")], [50 * SECOND], most=6)
    assert [line.text for line in kept.lines] == ["48", "49", "50", "51", "52", "90"]
    assert kept.left_out == 95


def test_lines_are_bounded_by_their_length_too() -> None:
    kept = keep([Line(number, "a", "", "x" * 100) for number in range(100)], [0], most_text=1000)
    assert len(kept.lines) == 10
    assert kept.left_out == 90


def test_logs_of_a_run_are_read_with_their_sources(tmp_path: Path) -> None:
    (tmp_path / "client1").mkdir()
    (tmp_path / "client1" / "3f2a-writer.stdout.0").write_bytes(b"wrote 1\nwrote \xff\n")
    (tmp_path / "client1.log").write_text("2026-11-21T10:40:13Z [INFO] x\n")
    (tmp_path / "elsewhere.log").symlink_to("/etc/passwd")
    kept = reporter.logs_of(tmp_path, BEGAN, [])
    assert [(line.source, line.text) for line in kept.lines] == [
        ("client1", "x"),
        ("client1/3f2a-writer.stdout.0", "wrote 1"),
        ("client1/3f2a-writer.stdout.0", "wrote \N{REPLACEMENT CHARACTER}"),
    ]


def test_what_is_not_read_of_a_large_log_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "client1.log").write_text("x\n" * 1000)
    monkeypatch.setattr(reporter, "MOST_READ", 500)
    kept = reporter.logs_of(tmp_path, BEGAN, [])
    assert len(kept.lines) + kept.left_out == 250
    assert kept.unread == 1500
