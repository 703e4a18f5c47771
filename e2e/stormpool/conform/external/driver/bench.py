"""The bench of a task driver: its tasks, with what an agent keeps for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from stormpool.conform.external.asking import Refused, heard
from stormpool.conform.external.bench import Asked, Bench
from stormpool.conform.external.driver.task import NAME, PATIENCE, Task, TaskAsked, Wanted
from stormpool.conform.external.plugin import Instance
from stormpool.conform.rule import Broken, NotOffered
from stormpool.errors import MachineError
from stormpool.goplugin.drive import DrivenDriver
from stormpool.goplugin.driver import Capabilities, Fingerprint, Health
from stormpool.goplugin.process import PluginProcess
from stormpool.goplugin.protos import base
from stormpool.node import Nodes

# Seconds: an agent that starts waits no longer (nomad, client/client.go, batchFirstFingerprintsTimeout).
FIRST_WITHIN = 50.0


class DriverBench(Bench[DrivenDriver]):
    """A task driver on its node."""

    kind = base.DRIVER
    directory = "/run/conform"  # the agent's, on the node

    def __init__(self, nodes: Nodes, asked: Asked, logs: Path, task: TaskAsked) -> None:
        super().__init__(nodes, asked, logs)
        self.task = task
        self.tasks: list[Task] = []
        self._can_run = False  # whether a task was run that does nothing

    def drive(self, plugin: PluginProcess) -> DrivenDriver:
        """What drives it."""
        return DrivenDriver(plugin)

    def listen(self, instance: Instance[DrivenDriver]) -> None:
        """Listen to its health, and to what it tells of tasks."""
        instance.streams["Fingerprint"] = instance.driven.fingerprint()
        instance.streams["TaskEvents"] = instance.driven.events()

    def open_streams(self, instance: Instance[DrivenDriver]) -> None:
        """Its health, and what it tells of tasks."""
        streams: tuple[Any, ...] = (instance.driven.fingerprint(), instance.driven.events())
        heard(streams[0], PATIENCE)
        for stream in streams:
            stream.stop()

    def put_to_use(self) -> None:
        """Run a task, where it can run any."""
        with suppress(NotOffered):
            self.running("trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done")

    @cached_property
    def can(self) -> Capabilities:
        """What it says it can do."""
        return self.ask.capabilities()

    def health(self, instance: Instance[DrivenDriver] | None = None) -> Fingerprint:
        """What a process says first of its health, the main one when none is given. Raises `Broken`."""
        try:
            first = (instance or self.main).streams["Fingerprint"].first(FIRST_WITHIN)
        except MachineError as error:
            raise Broken(f"it told nothing of its health: {error}") from error
        assert isinstance(first, Fingerprint)
        return first

    def must_be_healthy(self) -> None:
        """Raise `NotOffered` where the driver says that it can run no tasks here."""
        found = self.health()
        if found.health is not Health.HEALTHY:
            raise NotOffered(f"the driver says that it is {found.health}: {found.why or 'no more'}")

    def made(self, script: str, **more: Any) -> Task:
        """A task that is not started yet. Raises `NotOffered` where the driver is not healthy."""
        self.must_be_healthy()
        if not self._can_run:
            try:
                self.try_one()
            except Broken as broken:
                raise MachineError(f"a task that does nothing cannot be run: {broken}") from broken
        return self._task(script, **more)

    def try_one(self) -> None:
        """Have a task started that does nothing, until it is gone. Raises `Broken`."""
        task = self._task("exit 0")
        task.start()
        task.wait()
        task.destroy()
        self._can_run = True

    def _task(self, script: str, **more: Any) -> Task:
        self.tasks.append(Task(self, Wanted(script, **more)))
        return self.tasks[-1]

    def running(self, script: str, **more: Any) -> Task:
        """A task that has said that it is up."""
        task = self.made(script, **more)
        task.up()
        return task

    def signal(self, pid: int, name: str) -> None:
        """Send a process of the node a signal."""
        self.node.run(["kill", f"-{name}", str(pid)])

    def mounts_left(self) -> list[str]:
        """What is mounted now and was not at first, but for what the bench mounted itself."""
        own = {f"{task.directory}/{NAME}/alloc" for task in self.tasks}
        return [point for point in super().mounts_left() if point not in own]

    def undo(self) -> list[str]:
        """Destroy the tasks that no rule destroyed, and take away all directories and mounts."""
        left = list(self._refused())
        for task in self.tasks:
            task.close()
        self.tasks.clear()
        return left

    def tidy(self) -> list[str]:
        """The same, and what is still mounted."""
        left = super().tidy()
        mounted = self.mounts_left()
        for point in reversed(mounted):
            self.node.run(["umount", "--lazy", point], check=False)
        return [*left, *(f"mount {point}" for point in mounted)]

    def _refused(self) -> Iterator[str]:
        """What tasks could not be destroyed; the driver is killed when it does not answer."""
        for task in self.tasks:
            if task.handle is not None and not task.gone and self._main is not None and self._main.lives:
                try:
                    self._destroy(task)
                except Refused as refused:
                    yield f"task ({refused})"
                    if refused.code == "DEADLINE_EXCEEDED":
                        self._main.kill()

    def _destroy(self, task: Task) -> None:
        """Have a task destroyed; found again first by a process of the driver that does not know it."""
        if task.known_to is not self._main:
            task.recover()
        task.destroy()
