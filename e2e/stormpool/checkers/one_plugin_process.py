"""How many processes a driver or a device plugin has (seed 004, its first question)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from stormpool.events import Observed, Process
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds

TAP = "stormpool.tap.shim"  # what starts a plugin in a lab


@guarantee("one plugin process a client")
def one_plugin_process(history: History) -> Verdict:
    """A client runs one process of each device plugin and each driver, however many tasks it has.

    Its executors, a copy of the program for each task, are no such process; nor are those that an agent
    starts as it comes up, to ask what they are, for nothing is looked at then.
    """
    witnesses, judged = [], 0
    for look in (event for event in history.of(Observed) if event.whole):
        for plugin, found in plugin_processes(look):
            judged += 1
            if len(found) > 1:
                pids = ", ".join(str(each.pid) for each in found)
                what = f"{len(found)} processes of plugin {plugin} ({pids}) ran on {look.node}"
                witnesses.append(Witness(f"{what} at {seconds(look.t)}", look.t, look.t, [look.node]))
    return one_plugin_process.found(judged, witnesses, nothing="no such plugin was seen")


def plugin_processes(look: Observed) -> Iterator[tuple[str, list[Process]]]:
    """Each plugin that a node's agent has started, with all processes of its command, its own or nobody's;
    the same program may be another plugin's, too.
    """
    taps = {process.pid: plugin for process in look.processes if (plugin := tapped(process))}
    own = {taps[process.parent]: process for process in look.processes if process.parent in taps}
    for plugin, process in own.items():
        alike = [each for each in look.processes if each.argv == process.argv]
        yield plugin, [each for each in alike if taps.get(each.parent, plugin) == plugin]


def tapped(process: Process) -> str:
    """The plugin that a process is the tap of; nothing when it is none."""
    if TAP not in process.argv:
        return ""
    _, _, hello = process.argv.partition("--hello=")
    try:
        said, _ = json.JSONDecoder().raw_decode(hello)
    except ValueError:
        return ""
    return str(said.get("plugin", ""))
