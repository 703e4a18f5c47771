"""The processes of a node, and what must not be among them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from stormpool.audit import allocations

if TYPE_CHECKING:
    from stormpool.audit.look import Look

LONGEST = 80  # characters of a command line that are told
INIT = 1  # the parent of those whose own has ended
KTHREADD = 2  # the parent of the kernel's own threads
COMPANIONS = ("executor", "logmon", "docker_logger")  # what an agent starts beside a task, by its first words
COOKIE = "NOMAD_PLUGIN_MAGIC_COOKIE"  # what an agent has a plugin know it by (nomad, plugins/base)
STATE_FILE = "/state.db"  # a client has it open as long as it runs
IN_DATA = re.compile(r"(/.*)/client/state\.db$")

DEV = re.compile(r"--?dev\b")


@dataclass(frozen=True)
class Process:
    """One process."""

    pid: int
    parent: int
    state: str  # a letter, as in proc_pid_stat(5)
    name: str
    started: int = 0  # clock ticks after boot: pids are used again
    stuck: Mapping[int, int] = field(default_factory=dict)  # threads that sleep: how often each had slept
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)  # what is read of it
    paths: tuple[str, ...] = ()  # its working directory and open files, as far as they are an agent's
    sockets: frozenset[int] = frozenset()  # inodes

    def __str__(self) -> str:
        program, *words = self.words or (self.name,)
        shown = " ".join([program.rpartition("/")[2], *words])
        return f"process {self.pid} ({_short(shown)})"

    @cached_property
    def alloc(self) -> str:
        """The id of its allocation: it says so itself, or its arguments or open files do.

        The files of an agent and of a plugin are those of all allocations: a driver has its tasks' outputs.
        """
        said = self.environment.get("NOMAD_ALLOC_ID", "")
        serves_all = self.is_agent or (COOKIE in self.environment and not self._beside)
        paths = () if serves_all else self.paths
        return said or next(filter(None, map(allocations.of, (*self.words, *paths))), "")

    @property
    def is_agent(self) -> bool:
        """Whether it is a Nomad agent."""
        return self.words[1:2] == ("agent",) and "nomad" in self.words[0].rpartition("/")[2]

    @property
    def data_dirs(self) -> set[str]:
        """The data directories of the client that it is; none where it is none."""
        found = map(IN_DATA.match, self.paths) if self.is_agent else ()
        return {match[1] for match in found if match}

    @property
    def is_client(self) -> bool:
        """Whether it is an agent that runs tasks; one with `-dev` keeps its state in memory."""
        keeps_state = any(path.endswith(STATE_FILE) for path in self.paths)
        return self.is_agent and (keeps_state or any(map(DEV.match, self.words)))

    @property
    def companion(self) -> str:
        """What it is beside a task, by its command; nothing where it is a task's own, or nobody's."""
        theirs = bool(self.alloc) or COOKIE in self.environment
        own = "NOMAD_TASK_NAME" in self.environment
        return self._beside if theirs and not own else ""

    @property
    def _beside(self) -> str:
        """What its command says it is beside a task."""
        return next((each for each in COMPANIONS if each in self.words[1:5]), "")

    @property
    def is_plugin(self) -> bool:
        """Whether an agent started it as a plugin, or such a plugin did."""
        none = self.alloc or self.companion or self.is_agent
        return COOKIE in self.environment and not none

    @property
    def lives(self) -> bool:
        """Whether it runs any program."""
        return self.state not in "ZX"


def _short(text: str) -> str:
    return f"{text[:LONGEST]}{'…' if len(text) > LONGEST else ''}"


def parsed(sections: Mapping[str, list[str]]) -> dict[int, Process]:
    """The processes that a look shows (look.sh), by pid."""
    stuck: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for line in sections["stuck"]:
        where, _, switches = line.partition(":")
        pid, _, thread, _ = where.split("/")
        stuck[int(pid)][int(thread)] = int(switches.split()[-1])
    words, paths = _lists(sections["words"]), _lists(sections["links"], " ")
    environment = _lists(sections["environment"])
    found = {}
    for line in sections["stat"]:
        before, _, after = line.rpartition(")")
        pid, _, name = before.partition(" (")
        fields = after.split()
        if not pid.isdigit() or len(fields) < 20:
            continue  # a process named with a line's end
        found[int(pid)] = Process(
            pid=int(pid),
            parent=int(fields[1]),
            state=fields[0],
            name=name,
            started=int(fields[19]),
            stuck=stuck[int(pid)],
            words=tuple(words[int(pid)]),
            environment=dict(each.partition("=")[::2] for each in environment[int(pid)]),
            paths=tuple(each for each in paths[int(pid)] if each.startswith("/")),
            sockets=frozenset(int(each[8:-1]) for each in paths[int(pid)] if each.startswith("socket:[")),
        )
    return found


def _of_pids(lines: Iterable[str], mark: str = ":") -> Iterator[tuple[int, str]]:
    """What lines say of processes: PID/FILE, a mark, and what is said."""
    for line in lines:
        where, _, said = line.partition(mark)
        pid = where.partition("/")[0]
        if pid.isdigit():
            yield int(pid), said


def _lists(lines: Iterable[str], mark: str = ":") -> defaultdict[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for pid, said in _of_pids(lines, mark):
        found[pid].append(said)
    return found


def orphaned_executors(look: Look) -> Iterator[str]:
    """Executors that look after nothing any more: of an allocation that is gone, or without a task."""
    parents = {process.parent for process in look.processes.values() if process.lives}
    for process in look.processes.values():
        if process.companion != "executor" or not process.lives:
            continue
        alloc = f"allocation {process.alloc[:8]}"
        if not look.knows(process.alloc):
            yield f"{process} is an executor of {alloc}, {look.why_unknown}"
        elif process.pid not in parents:
            yield f"{process} is an executor of {alloc}, and its task has ended"


def doubled_plugins(look: Look) -> Iterator[str]:
    """Plugins of one name of which a node runs several."""
    by_name: dict[str, dict[object, Process]] = defaultdict(dict)
    for process in look.processes.values():
        if not process.lives:
            continue
        starter = look.processes.get(process.parent)
        if process.is_plugin and not (starter and starter.is_plugin):  # a plugin's own children are no other
            by_name[f"plugin {' '.join(process.words)}"][process.pid] = process
        if process.alloc and "CSI_ENDPOINT" in process.environment:
            job, task = (process.environment.get(f"NOMAD_{each}", "") for each in ("JOB_ID", "TASK_NAME"))
            by_name[f"CSI plugin task {task} of job {job}"].setdefault(process.alloc, process)
    for name, found in by_name.items():
        if len(found) > 1:
            pids = ", ".join(str(each.pid) for each in found.values())
            yield f"{_short(name)} runs {len(found)} times: processes {pids}"


def zombies(look: Look) -> Iterator[str]:
    """Processes of agents and plugins that have ended, and that nobody has waited for."""
    agents = {each.name for each in look.processes.values() if each.is_agent}
    plugins = {each.name for each in look.processes.values() if each.is_plugin}  # python3, at times
    for process in look.processes.values():
        starter = look.processes.get(process.parent)
        theirs = starter is not None and (starter.is_agent or starter.is_plugin or bool(starter.companion))
        left = process.name in agents or (process.parent == INIT and process.name in plugins)
        if process.state == "Z" and (theirs or left):
            yield f"process {process.pid} ({process.name}) has ended; its parent is {starter or 'none'}"


def stuck(look: Look) -> Iterator[str]:
    """Threads in uninterruptible sleep; what is told is the same again only if they did not run meanwhile."""
    for process in look.processes.values():
        if KTHREADD in (process.pid, process.parent):
            continue
        for thread, switches in process.stuck.items():
            who = f"{process}" if thread == process.pid else f"thread {thread} of {process}"
            yield f"{who} is in uninterruptible sleep, after {switches} switches"
