"""Watches what the servers hold for true while a run goes on, and writes every change into the history."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any

from msgspec import structs

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of
from stormpool.agents.nomad import Agents
from stormpool.errors import TimedOut
from stormpool.events import (
    SECOND,
    Alloc,
    AllocView,
    DeviceView,
    Event,
    Leader,
    Member,
    PluginView,
    Unwatched,
)
from stormpool.instances import name_of
from stormpool.lab import Lab, Role
from stormpool.store import Recorder

log = logging.getLogger(__name__)

# hashicorp/raft's own words, with the time in front (agents print UTC where the zone is UTC). An older one
# (Nomad 1.3.1) names the term as it becomes a candidate, and no more when it has won.
ELECTION = re.compile(
    r"(\S+) \[INFO\]\s+nomad\.raft: (?:entering candidate state|(election won)):(?:.*?\bterm=(\d+))?"
)
LOOK_EVERY = 0.2  # seconds between two looks at the servers' logs
QUERY = 0.5  # seconds a blocking query waits for news; an answer without any is news as well
# Nanoseconds without an answer after which what the servers hold for true is not known. Not more than what a
# checker leaves before and after a change (`stormpool.checkers.lowest_healthy_controller.STEADY`).
SILENT = SECOND
RESOURCES = {"resources": "true"}  # without it nodes are listed without their devices
STOP_TIMEOUT = 5.0  # seconds that reading the logs to their end may take


@dataclass
class Elections:
    """What a server's log tells of the elections that it won, read on as the log grows."""

    log: Path
    _read: int = 0  # bytes, of whole lines
    _term: int = 0  # of the election it stood in last; 0 before the first

    def won(self) -> Iterator[tuple[str, int]]:
        """Those told of since this was last asked: when, by the server's clock (ISO 8601), and the term."""
        for when, has_won, named in ELECTION.findall(self._unread()):
            self._term = int(named or self._term)
            if has_won and self._term:
                yield when, self._term

    def _unread(self) -> str:
        """The whole lines that have come since."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.decode(errors="replace")


class Watch:
    """Threads that watch the members, the plugins and the servers' logs."""

    def __init__(self, lab: Lab, agents: Agents, logs: Path, recorder: Recorder) -> None:
        self._lab = lab
        self._agents = agents
        self._logs = logs
        self._recorder = recorder
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._of_allocations = False
        self._known: dict[str, Event] = {}  # what was told last, by what it is about; times are the clock's
        self._kept: dict[str, Event] = {}
        self._set_back = 0  # how often `take_back` was called
        self._heard: dict[str, int] = {}  # when a server last answered what it was asked, by the clock
        self._elections = threading.Thread(target=self._watch_elections, name="watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._elections.start()
        follow: list[tuple[str, object, Callable[[Any], None]]] = [("nodes", [], self._members())]
        for plugin in self._lab.csi_plugins:
            follow.append((f"plugin/csi/{plugin.id}", None, self._plugin(plugin.id)))
        for what in follow:
            threading.Thread(target=self._follow, args=what, name="watch", daemon=True).start()

    def allocations(self) -> None:
        """Begin to tell of each allocation, too, unless that has begun."""
        if self._of_allocations:
            return
        self._of_allocations = True
        follow = partial(self._follow, "allocations", [], self.of_allocations())
        threading.Thread(target=follow, name="watch", daemon=True).start()

    def stop(self) -> None:
        """End, and read the servers' logs to their end; the queries end with the connections."""
        self._stop.set()
        if self._elections.is_alive():  # not where bring-up ended before
            self._elections.join(LOOK_EVERY + STOP_TIMEOUT)

    def _follow(self, path: str, missing: object, tell: Callable[[Any], None]) -> None:
        """Tell whenever an answer of the servers has changed; when one does not answer, ask the next."""
        last: object = object()
        names = self._lab.names(Role.SERVER)
        turn = set_back = 0
        while not self._stop.is_set():
            if set_back != self._set_back:  # what was told since may be what is kept no more
                last, set_back = object(), self._set_back
            try:
                api = self._agents.api(names[turn % len(names)])
                last = api.until(path, partial(ne, last), timeout=QUERY, missing=missing, asking=RESOURCES)
                self.heard(path)
                if last is not None:
                    tell(last)
            except TimedOut:
                self.heard(path)
            except (ApiError, Unreachable) as error:
                log.debug("watching %s: %s", path, error)
                turn += 1
                self._stop.wait(LOOK_EVERY)

    def keep(self) -> None:
        """Remember what is held for true now, for `take_back`."""
        with self._lock:
            self._kept = dict(self._known)

    def take_back(self) -> None:
        """The servers were set back to when `keep` was called, and hold for true what they held then."""
        with self._lock:
            self._known = dict(self._kept)
            self._set_back += 1

    def retell(self) -> None:
        """Write what the servers hold for true into a history that has just begun, since when: before it."""
        with self._lock:
            for event in self._known.values():
                self._recorder.write(structs.replace(event, t=event.t - self._recorder.zero))

    def heard(self, path: str) -> None:
        """A server has answered: what had changed until now is told."""
        self.tell_silences()
        with self._lock:
            self._heard[path] = time.monotonic_ns()

    def tell_silences(self) -> None:
        """Write for how long nobody has answered; what goes on is told as it goes on."""
        with self._lock:
            now = time.monotonic_ns()
            for path, heard in self._heard.items():
                if now - heard > SILENT:
                    self._heard[path] = now
                    zero = self._recorder.zero
                    self._recorder.write(Unwatched(now - zero, heard - zero))

    def tell(self, about: str, event: Event) -> None:
        """Write what has changed about something."""
        with self._lock:
            before = self._known.get(about)
            if before is None or structs.replace(before, t=event.t) != event:
                self._known[about] = structs.replace(event, t=event.t + self._recorder.zero)
                self._recorder.write(event)

    def _members(self) -> Callable[[list[dict[str, Any]]], None]:
        def tell(nodes: list[dict[str, Any]]) -> None:
            for node in nodes:
                eligible = node["SchedulingEligibility"] == "eligible"
                now, name = self._recorder.now(), node["Name"]
                member = Member(now, name, node["ID"], node["Status"], eligible)
                self.tell(f"node {node['ID']}", member)
                if self._lab.external_plugins:
                    self.tell(f"devices of {name}", DeviceView(now, name, _devices(node)))

        return tell

    def of_allocations(self) -> Callable[[list[dict[str, Any]]], None]:
        """What tells of changes in a list of them, each with its time by the clock of the server that led."""

        known: dict[str, Alloc] = {}

        def tell(stubs: list[dict[str, Any]]) -> None:
            now = self._recorder.now()
            for stub in stubs:
                known[stub["ID"]] = alloc_of(stub)
                changed = min(now, stub["ModifyTime"] - self._recorder.zero_wall)
                self.tell(f"allocation {stub['ID']}", AllocView(changed, known[stub["ID"]]))
            for id in set(known) - {stub["ID"] for stub in stubs}:
                self.tell(f"allocation {id}", AllocView(now, known.pop(id), forgotten=True))

        return tell

    def _plugin(self, plugin: str) -> Callable[[dict[str, Any]], None]:
        def tell(seen: dict[str, Any]) -> None:
            controllers = {
                client: bool(info["Healthy"]) for client, info in (seen["Controllers"] or {}).items()
            }
            self.tell(f"plugin {plugin}", PluginView(self._recorder.now(), plugin, controllers))

        return tell

    def _watch_elections(self) -> None:
        """Follow the servers' logs: an election is told with the time the server gives it."""
        logs = [Elections(self._logs / f"{name}.log") for name in self._lab.names(Role.SERVER)]
        last_round = False
        while not last_round:
            last_round = self._stop.wait(LOOK_EVERY)
            self.tell_silences()
            won = [self._leader(each.log.stem, *told) for each in logs for told in each.won()]
            for leader in sorted(won, key=lambda leader: leader.term):  # who was told of last leads
                self.tell("leader", leader)

    def _leader(self, node: str, when: str, term: int) -> Leader:
        at = int(datetime.fromisoformat(when).timestamp() * 1e9) - self._recorder.zero_wall
        return Leader(at, node, term)


def _devices(node: dict[str, Any]) -> dict[str, bool]:
    """The device instances of a client, each with whether it is healthy."""
    groups = (node.get("NodeResources") or {}).get("Devices") or []
    return {
        name_of(group, each["ID"]): bool(each["Healthy"])
        for group in groups
        for each in group["Instances"] or []
    }
