"""One task on the bench: its directories and pipes as an agent makes them, what it said, what runs of it."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stormpool.conform.external.bench import GONE_WITHIN, LOOK_EVERY
from stormpool.conform.external.look import Look, Seen, told
from stormpool.conform.external.observe import MARK
from stormpool.conform.rule import Broken
from stormpool.errors import TimedOut
from stormpool.goplugin.device import Mount
from stormpool.goplugin.driver import Exit, Handle, Isolation
from stormpool.goplugin.driver import Task as Spec
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.conform.external.driver.bench import DriverBench

NAME = "task"
PIPES = Path(__file__).with_name("pipes.py")
CHROOT = ("/etc/passwd", "/etc/group")  # of what agents put there, beside the shell (chroot_env)
READY_WITHIN = 10.0  # seconds until the pipes are there
PATIENCE = 10.0  # seconds until a task says or does what it is to
DEAD_WITHIN = 0.5  # seconds for the kernel to take away what has ended

# What tasks do, for a shell. Each says "up" once it does it.
LASTING = "trap 'exit 7' TERM INT; echo up; while :; do sleep 0.1; done"
COUNTING = "trap 'exit 7' TERM INT; echo up; n=0; while :; do n=$((n+1)); echo line $n; sleep 0.1; done"
STUBBORN = "trap '' TERM INT; echo up; while :; do sleep 0.1; done"


@dataclass(frozen=True)
class TaskAsked:
    """How the driver is told to run a command: the `config` block of a job, with places to fill in.

    `{command}`: the program; `{args}`: its arguments, as a list; `{script}`: the shell's script alone.
    """

    config: Mapping[str, Any] = field(default_factory=lambda: {"command": "{command}", "args": "{args}"})
    shell: tuple[str, ...] = ("/bin/busybox", "sh")  # in the task; takes -c SCRIPT, and has sleep
    user: str = ""  # whose tasks can be run beside one's own

    def filled(self, argv: Sequence[str]) -> dict[str, Any]:
        """The block for a command."""
        return {name: _filled(value, argv) for name, value in self.config.items()}


def _filled(value: Any, argv: Sequence[str]) -> Any:
    """A value with the command in its places."""
    if value == "{args}":
        return list(argv[1:])
    if isinstance(value, str):
        return value.replace("{command}", argv[0]).replace("{script}", argv[-1])
    if isinstance(value, list):
        found = [_filled(each, argv) for each in value]
        return [word for each, given in zip(found, value, strict=True) for word in _spliced(each, given)]
    if isinstance(value, dict):
        return {name: _filled(each, argv) for name, each in value.items()}
    return value


def _spliced(found: Any, given: Any) -> list[Any]:
    return list(found) if given == "{args}" else [found]


@dataclass(frozen=True)
class Wanted:
    """What a task is to do, and with what."""

    script: str
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    command: tuple[str, ...] = ()  # instead of a shell's
    config: bytes = b""  # instead of what is filled in


class Task:
    """A task, from before it is started to after it is gone."""

    def __init__(self, bench: DriverBench, wanted: Wanted) -> None:
        self.alloc = str(uuid.uuid4())
        self.directory = f"{bench.directory}/alloc/{self.alloc}"
        self.argv = wanted.command or (*bench.task.shell, "-c", wanted.script)
        self.handle: Handle | None = None
        self.gone = False  # whether the driver was told to forget it
        self.known_to: object = None  # the process of the driver that knows it
        self._bench = bench
        self._said = {"stdout": "", "stderr": ""}
        self._ready = threading.Event()
        self._cgroup = ""  # that the bench has made for it
        python = [bench.python, "-I", "-S", str(PIPES)]
        files = [bench.task.shell[0], *CHROOT] if bench.can.isolation is Isolation.CHROOT else []
        argv = ["env", f"{MARK}=1", *python, self.directory, NAME, *files]
        self._pipes = bench.node.stream(argv, self._hear)
        if not self._ready.wait(READY_WITHIN):
            raise TimedOut(f"a task's pipes: not there within {READY_WITHIN:g} s")
        self.spec = self._spec(wanted)

    @property
    def id(self) -> str:
        """What the driver knows it by."""
        return self.spec.id

    def said(self, which: str = "stdout") -> str:
        """What came out of one of its pipes so far."""
        return self._said[which]

    def start(self) -> Handle:
        """Have it started. Raises `Refused`."""
        self.handle = self._bench.ask.start(self.spec)
        self.known_to = self._bench.main
        return self.handle

    def up(self) -> None:
        """Have it started, and return once it says that it is up. Raises `Broken` when it does not."""
        self.start()
        self.must_say("up")

    def must_say(self, text: str, which: str = "stdout") -> None:
        """Raise `Broken` unless something comes out of one of its pipes."""
        try:
            wait_until("it says", lambda: text in self.said(which), timeout=PATIENCE, every=0.005)
        except TimedOut:
            seen = f"{self.said()[-200:]!r} and {self.said('stderr')[-200:]!r}"
            raise Broken(
                f"{text[:80]!r} did not come out of {which} within {PATIENCE:g} s, but {seen}"
            ) from None

    def wait(self) -> Exit:
        """How it ends. Raises `Refused`."""
        return self._bench.ask.wait(self.id, PATIENCE)

    def stopped(self, timeout: float = PATIENCE, signal: str = "SIGTERM") -> Exit:
        """Have it stopped while it is waited for, as agents do; return how it ended. Raises `Refused`."""
        waiting = self._bench.later(self.wait)
        self._bench.ask.stop(self.id, timeout, signal)
        return waiting.result()

    def destroy(self) -> None:
        """Have it forgotten, by force as agents do."""
        self._bench.ask.destroy(self.id, force=True)
        self.gone = True

    def recover(self) -> None:
        """Have it found again."""
        assert self.handle is not None
        self._bench.ask.recover(self.handle)
        self.known_to = self._bench.main

    def processes(self, look: Look | None = None) -> tuple[Seen, ...]:
        """What runs of it, what the driver runs for it included."""
        return (look or self._bench.look()).of(self.alloc)

    def shells(self) -> tuple[Seen, ...]:
        """What runs its command: one process, unless it was started twice."""
        processes = self.processes()
        doing = [each for each in processes if each.argv == self.argv]
        if doing:  # a child that it forked has the same argv, until it becomes another
            return tuple(each for each in doing if each.parent not in {other.pid for other in doing})
        telling = [each for each in processes if self.argv[-1] in each.argv]
        return tuple(each for each in telling if each.pid not in {other.parent for other in telling})

    def shell(self) -> Seen:
        """The one process that runs its command. Raises `Broken` when there is another number of them."""
        found = self.shells()
        if len(found) != 1:
            raise Broken(f"{len(found)} processes run the task's command: {told(self.processes()) or 'none'}")
        return found[0]

    def must_be_over(self, when: str, within: float = DEAD_WITHIN) -> None:
        """Raise `Broken` when its command still runs."""
        try:
            wait_until("its command has ended", lambda: not self.shells(), timeout=within, every=0.01)
        except TimedOut:
            raise Broken(f"{when}, its command still runs: {told(self.shells())}") from None

    def must_be_gone(self, when: str) -> None:
        """Raise `Broken` when anything still runs of it."""
        try:
            wait_until(
                "it is gone", self.processes, lambda left: not left, timeout=GONE_WITHIN, every=LOOK_EVERY
            )
        except TimedOut:
            raise Broken(f"{when}, there still runs {told(self.processes())}") from None

    def close(self) -> None:
        """Take away its directories and pipes."""
        self._pipes.stop()
        if self._bench.can.isolation is Isolation.CHROOT:
            self._bench.node.run(["umount", f"{self.directory}/{NAME}/alloc"], check=False)
        self._bench.node.run(["rm", "-rf", "--one-file-system", self.directory], check=False)

    def _spec(self, wanted: Wanted) -> Spec:
        bench, logs = self._bench, f"{self.directory}/alloc/logs"
        config = wanted.config or bench.ask.task_config(bench.task.filled(self.argv))
        return Spec(
            id=f"{self.alloc}/{NAME}/{uuid.uuid4().hex[:8]}",
            name=NAME,
            alloc_id=self.alloc,
            config=config,
            env={**self._env(), **wanted.env},
            mounts=wanted.mounts,
            user=wanted.user,
            alloc_dir=self.directory,
            stdout=f"{logs}/.{NAME}.stdout.fifo",
            stderr=f"{logs}/.{NAME}.stderr.fifo",
            job="conform",
            memory_bytes=64 << 20,
            cpu_shares=100,
            cgroup=self._cgroup,
        )

    def _env(self) -> dict[str, str]:
        """What agents tell tasks: where their directories are as they see them (client/taskenv/env.go)."""
        alone = self._bench.can.isolation is not Isolation.NONE
        own = "" if alone else f"{self.directory}/{NAME}"
        return {
            "NOMAD_ALLOC_ID": self.alloc,
            "NOMAD_TASK_NAME": NAME,
            "NOMAD_ALLOC_DIR": "/alloc" if alone else f"{self.directory}/alloc",
            "NOMAD_TASK_DIR": f"{own}/local",
            "NOMAD_SECRETS_DIR": f"{own}/secrets",
        }

    def _hear(self, line: str) -> None:
        for which, text in json.loads(line).items():
            if which == "ready":
                self._cgroup = text
                self._ready.set()
            else:
                self._said[which] += text
