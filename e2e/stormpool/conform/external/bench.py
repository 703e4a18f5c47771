"""The bench of external plugins: a node with a pool and no agent, and the plugin as an agent has it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from stormpool.conform.external.asking import asked
from stormpool.conform.external.look import Look, Seen
from stormpool.conform.external.plugin import Command, Instance, OnBench, Place
from stormpool.conform.rule import Broken
from stormpool.errors import MachineError, TimedOut
from stormpool.goplugin import schema
from stormpool.goplugin.drive import Driven
from stormpool.goplugin.handshake import API
from stormpool.goplugin.process import RPC_TIMEOUT, PluginProcess
from stormpool.goplugin.protos import base, base_rpc
from stormpool.node import Node, Nodes
from stormpool.wait import wait_until

NODE = "client1"
OBSERVER = Path(__file__).with_name("observe.py")
LOOK_EVERY = 0.1  # seconds: a look takes half of that
GONE_WITHIN = 5.0  # seconds until what was ended is not seen any more
THREADS = 64  # calls at once, at most

D = TypeVar("D", bound=Driven)
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What plugin is to be judged, and with which configuration of its own."""

    command: Command
    config: Mapping[str, Any] = field(default_factory=dict)
    node: str = NODE


class Bench(Generic[D]):
    """One plugin on one node: the process that serves as an agent's own, and others beside it."""

    kind: int  # of plugin (nomad, plugins/base/proto/base.proto)

    def __init__(self, nodes: Nodes, asked: Asked, logs: Path) -> None:
        self.node: Node = nodes.nodes[asked.node]
        self.command, self.config = asked.command, asked.config
        self.place = Place(nodes, self.node, Path(tempfile.mkdtemp(prefix="plugin-", dir=logs)))
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="bench")
        self.met: list[Instance[D]] = []  # all that ever were
        self.begun: list[OnBench] = []  # all that were started, met or not
        self.python = nodes.python
        self._numbers = itertools.count(1)
        self._main: Instance[D] | None = None
        self._no_use = ""  # why it cannot be started: it would not be the next time either
        self.node.run(["mkdir", "-p", self.place.temporary])
        self._usual = self.look()

    def drive(self, plugin: PluginProcess) -> D:
        """What drives a plugin of this kind."""
        raise NotImplementedError

    def listen(self, instance: Instance[D]) -> None:
        """Listen to what an agent listens to."""
        raise NotImplementedError

    def put_to_use(self) -> None:
        """Have the plugin do something for a task."""
        raise NotImplementedError

    def open_streams(self, instance: Instance[D]) -> None:
        """Open streams as an agent does, hear of them where anything is to be heard, and cancel them."""
        raise NotImplementedError

    def undo(self) -> list[str]:
        """Undo what a rule had done for tasks; say what could not be."""
        return []

    @property
    def ruined(self) -> bool:
        """Whether another process of it does not serve any more, where one did before."""
        return bool(self._no_use and self.met)

    @property
    def main(self) -> Instance[D]:
        """The process that serves as an agent's own. Raises `MachineError` when it cannot be started."""
        if self._main is None:
            if self._no_use:
                raise MachineError(self._no_use)
            try:
                self._main = self.launch()
            except MachineError as error:
                self._no_use = str(error)
                raise
        return self._main

    @property
    def ask(self) -> D:
        """What asks it."""
        return self.main.ask

    def begin(self, env: Mapping[str, str] | None = None) -> OnBench:
        """Start a process of the plugin; `env`: what is otherwise in its environment."""
        command = Command(self.command.argv, {**self.command.env, **(env or {})})
        self.begun.append(OnBench(self.place, command, next(self._numbers)))
        return self.begun[-1]

    def meet(self, started: OnBench) -> Instance[D]:
        """Meet one that was started."""
        instance = Instance(started, self.drive)
        self.met.append(instance)
        return instance

    def launch(self) -> Instance[D]:
        """Start a process of the plugin, configure it, listen to it."""
        instance = self.meet(self.begin())
        instance.ask.configure(dict(self.config))
        self.listen(instance)
        return instance

    def come_back(self) -> None:
        """SIGKILL to the main one, and another in its place. Raises `Broken` when that does not serve."""
        self.main.kill()
        self.start_again()

    def start_again(self) -> None:
        """Another in the place of the main one, which has ended."""
        self._main = None
        try:
            self._main = self.launch()
        except MachineError as error:
            self._no_use = str(error)
            raise Broken(f"after its end another did not serve: {error}") from error

    def set_config(self, instance: Instance[D], data: bytes | None = None) -> None:
        """Hand a configuration over as agents do that try it, with nothing of their own.

        `data`: what is handed over instead.
        """
        if data is None:
            data = schema.encode(schema.complete(instance.ask.config_spec(), dict(self.config)))
        request = base.SetConfigRequest(msgpack_config=data, plugin_api_version=API)
        with asked("SetConfig"):
            base_rpc.BasePluginStub(instance.plugin.channel).SetConfig(request, timeout=RPC_TIMEOUT)

    def look(self) -> Look:
        """What is on the node."""
        argv = [self.python, "-I", "-S", str(OBSERVER), self.place.temporary]
        seen = msgspec.json.decode(self.node.run(argv).stdout, type=Look)
        door = f"UNIX-LISTEN:{self.place.nodes.door}/"
        theirs = tuple(each for each in seen.processes if not any(door in word for word in each.argv))
        return Look(theirs, seen.mounts, seen.temporary)

    def later(self, call: Callable[[], T]) -> Future[T]:
        """Have a call made meanwhile."""
        return self.threads.submit(call)

    def at_once(self, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Make calls at once; raises what the first of them that failed raised."""
        return [made.result() for made in [self.later(call) for call in calls]]

    def processes_left(self) -> tuple[Seen, ...]:
        """What runs now, was not there at first, and is not of the main process."""
        look = self.look()
        own = look.below(self._main.started.pid) if self._main is not None else ()
        return tuple(each for each in look.new(self._usual) if each not in own)

    def mounts_left(self) -> list[str]:
        """What is mounted now and was not at first."""
        return self.look().mounted(self._usual)

    def tidy(self) -> list[str]:
        """Undo what a rule left; say what it was."""
        left = self.undo()
        for started in self.begun:
            if started.process.alive() and (self._main is None or started is not self._main.started):
                self._end(started)
        if self._main is not None and not self._main.lives:
            self._main = None
        return [*left, *self._end_processes()]

    def close(self) -> None:
        """End all of it."""
        self._main = None
        self.tidy()
        for started in self.begun:
            started.keep()
        self.threads.shutdown()

    def _end(self, started: OnBench) -> None:
        for instance in self.met:
            if instance.started is started:
                instance.kill()
        started.kill()

    def _end_processes(self) -> list[str]:
        """SIGKILL to what runs and should not; say what it was."""
        try:
            wait_until(
                "no process is left",
                self.processes_left,
                lambda left: not left,
                timeout=GONE_WITHIN,
                every=LOOK_EVERY,
            )
        except TimedOut:
            left = self.processes_left()
            self.node.run(["kill", "-KILL", *(str(each.pid) for each in left)], check=False)
            return [f"process {each}" for each in left]
        return []
