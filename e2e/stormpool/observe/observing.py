"""What the nodes themselves show: the observer, run on a node, and what it tells as events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from stormpool.errors import MachineError
from stormpool.events import Datasets, Down, Mount, Observed, Process
from stormpool.node import Node, Stream
from stormpool.observe import command
from stormpool.store import Recorder

WATCH_EVERY = 0.2  # seconds between two looks at the tasks of a node

Streams = dict[str, Stream | None]  # by node: an observer, None where it ended with its node


class Observing:
    """Looks at nodes, and watches their tasks while a workload runs."""

    def __init__(self, python: str, recorder: Recorder) -> None:
        self._python = python
        self._recorder = recorder
        self._watching: Streams = {}  # while a workload runs
        self._datasets: Streams = {}  # the same, where somebody asked for it

    def look(self, node: Node) -> Observed:
        """What a node's kernel and pools show now, all of it."""
        seen = json.loads(node.run(command.observer(self._python, node)).stdout)
        looked = self._observed(seen, node)
        return structs.replace(looked, whole=True)

    def watch(self, nodes: Iterable[Node]) -> None:
        """Write every change of the tasks that hold a volume into the history, until `stop`."""
        self._watching = {node.spec.name: self._watch(node) for node in nodes}

    def watch_datasets(self, nodes: Iterable[Node]) -> None:
        """Write every change of the nodes' datasets into the history, until `stop_datasets`."""
        self._datasets = {node.spec.name: self._watch_datasets(node) for node in nodes}

    def lost(self, name: str) -> None:
        """A node has crashed, and its observer with it: nothing runs there now."""
        self._recorder.write(Down(self._recorder.now(), name))
        _lose(self._datasets, name)
        if _lose(self._watching, name):
            self._recorder.write(Observed(self._recorder.now(), name))

    def back(self, node: Node) -> None:
        """A node that had crashed is up again."""
        if node.spec.name in self._watching:
            self._watching[node.spec.name] = self._watch(node)
        if node.spec.name in self._datasets:
            self._datasets[node.spec.name] = self._watch_datasets(node)

    def stop_datasets(self) -> None:
        """Return when all that was seen of datasets is told. Raises `MachineError` like `stop`."""
        _end(self._datasets)

    def stop(self) -> None:
        """Return when all that was seen is told. Raises `MachineError` where an observer has failed."""
        _end(self._watching)

    def _watch(self, node: Node) -> Stream:
        def tell(line: str) -> None:
            self._recorder.write(self._observed(json.loads(line), node))

        return node.stream(command.observer(self._python, node, "--watch", str(WATCH_EVERY)), tell)

    def _watch_datasets(self, node: Node) -> Stream:
        def tell(line: str) -> None:
            seen = json.loads(line)
            at, since = self._when(seen["at"], node), self._when(seen["since"], node)
            self._recorder.write(Datasets(at, node.spec.name, since, seen["made"], seen["mounted"]))

        return node.stream(command.observer(self._python, node, "--datasets", str(WATCH_EVERY)), tell)

    def _when(self, at: int, node: Node) -> int:
        """A time on a node as one of the run; what was before the run is its beginning."""
        return max(0, node.here(at) - self._recorder.zero)

    def _observed(self, seen: dict[str, Any], node: Node) -> Observed:
        return Observed(
            t=self._when(seen["at"], node),
            node=node.spec.name,
            since=self._when(seen["since"], node) if seen.get("since") else 0,
            processes=[Process(**process) for process in seen["processes"]],
            mounts=[Mount(**mount) for mount in seen.get("mounts", [])],
            pools=seen.get("pools", []),
            datasets=seen.get("datasets", []),
            silent=seen.get("silent", False),
        )


def _lose(streams: Streams, name: str) -> bool:
    """An observer has ended with its node; whether there was one."""
    stream = streams.get(name)
    if stream is None:
        return False
    stream.stop()
    streams[name] = None
    return True


def _end(streams: Streams) -> None:
    """End observers. Raises `MachineError` where one has failed: what it did not see is not known."""
    codes = {name: stream.stop() for name, stream in streams.items() if stream is not None}
    streams.clear()
    for name, code in codes.items():
        if code != 0:
            raise MachineError(f"the observer of {name} ended with {code}")
