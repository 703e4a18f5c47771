"""A client has one process of each plugin, whatever copies of its program look after tasks."""

from stormpool.checkers.one_plugin_process import one_plugin_process, plugin_processes, tapped
from stormpool.events import Observed, Process
from stormpool.history import History
from stormpool.verdict import Outcome

HELLO = '{"plugin": "zfs_driver", "node": "client1"}'
TAP = Process(10, 100, "python3", f"python -m stormpool.tap.shim --report=/s --hello={HELLO} -- python", 5)
PLUGIN = Process(11, 101, "python3", "python -m zfs_driver", 10)
EXECUTOR = Process(12, 102, "python3", "python -m zfs_driver executor --directory /x", 1, "0b8e12ab")


def look(*processes: Process) -> Observed:
    return Observed(1, "client1", processes=list(processes), whole=True)


def test_one_and_its_executors_are_well() -> None:
    assert tapped(TAP) == "zfs_driver"
    assert dict(plugin_processes(look(TAP, PLUGIN, EXECUTOR))) == {"zfs_driver": [PLUGIN]}
    assert one_plugin_process(History([look(TAP, PLUGIN, EXECUTOR)])).outcome is Outcome.VALID


def test_two_are_not() -> None:
    copy = Process(13, 103, "python3", PLUGIN.argv, 1)
    verdict = one_plugin_process(History([look(TAP, PLUGIN, copy)]))
    assert verdict.outcome is Outcome.INVALID
    assert "2 processes of plugin zfs_driver (11, 13) ran on client1" in verdict.why


def test_where_none_was_seen_nothing_is_known() -> None:
    assert one_plugin_process(History([look(EXECUTOR)])).outcome is Outcome.UNKNOWN
    assert one_plugin_process(History([])).outcome is Outcome.UNKNOWN


def test_a_line_that_was_cut_is_no_tap_of_anything() -> None:
    cut = Process(10, 100, "python3", TAP.argv[: TAP.argv.index("zfs_driver")], 5)
    assert tapped(cut) == ""


def test_one_program_may_be_two_plugins() -> None:
    tap = Process(20, 200, "python3", TAP.argv.replace('"zfs_driver"', '"other"'), 5)
    twin = Process(21, 201, "python3", PLUGIN.argv, 20)
    seen = look(TAP, PLUGIN, tap, twin)
    assert dict(plugin_processes(seen)) == {"zfs_driver": [PLUGIN], "other": [twin]}
    assert one_plugin_process(History([seen])).outcome is Outcome.VALID
