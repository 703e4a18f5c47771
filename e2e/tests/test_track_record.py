"""The track record names what is there, and the page of it is what the record says."""

from pathlib import Path

import pytest

from stormpool import guarantees, track_record
from stormpool.errors import Misuse
from stormpool.workers import story

ROOT = Path(__file__).parents[2]
FILE = ROOT / "scenarios" / "track-record.toml"
RECORD = track_record.read(FILE)


@pytest.mark.parametrize("entry", RECORD.entry, ids=lambda entry: entry.scenario.partition("::")[2])
def test_an_entry_names_what_there_is(entry: track_record.Entry) -> None:
    assert story.load(f"{FILE.parent}/{entry.scenario}").name.endswith(entry.scenario)
    for name in (*entry.guarantees, *entry.also):
        assert guarantees.by_name(name).name == name
    assert not {*entry.guarantees} & {*entry.also}
    for often in (*entry.red.values(), *entry.green.values()):
        seen, of, runs = often.partition(" of ")
        assert of
        assert 1 <= int(seen) <= int(runs)


def test_the_page_is_the_record() -> None:
    assert track_record.table(RECORD) in (ROOT / "docs" / "track-record.md").read_text()


def test_what_is_known_of_a_version() -> None:
    (known,) = [RECORD.of(each.scenario, version) for each in RECORD.entry[:1] for version in each.red]
    assert known is RECORD.entry[0]
    assert known.always_red("1.6.0")
    assert not known.always_red("1.6.1")
    assert RECORD.of(known.scenario, "1.6.1") is None


def test_what_is_news_of_a_run_that_broke_something() -> None:
    known = {"1.6.0": "3 of 3", "1.6.1": "2 of 3"}
    entry = track_record.Entry("", "", ("progress", "lifecycle order"), known, also=("one writer a volume",))

    def news(*broken: str, version: str = "1.6.0") -> str:
        return entry.news(frozenset(broken), version)

    assert news("progress", "lifecycle order") == ""
    assert news("progress", "lifecycle order", "one writer a volume") == ""
    assert news("progress") == "known to break lifecycle order, and did not"
    assert news("progress", version="1.6.1") == ""
    assert news("progress", "lifecycle order", "claims") == "not known to break claims"


def test_a_record_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "record.toml"
    file.write_text("entry = 3")
    with pytest.raises(Misuse, match="no track record"):
        track_record.read(file)
