"""A task driver that keeps every rule, and has a fault where `FAULT` says which."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import faulty_protocol
from faulty_protocol import faulty
from stormpool import processes
from stormpool.goplugin import driver_service, schema, serve
from stormpool.goplugin.driver import (
    Capabilities,
    Executed,
    Exit,
    Fingerprint,
    Handle,
    Health,
    NotStarted,
    State,
    Status,
    Task,
    TaskEvent,
    TaskNotFound,
    Usage,
    status_to,
)
from stormpool.goplugin.protos import driver
from stormpool.goplugin.serve import serve_driver

SUPERVISOR = Path(__file__).with_name("conform_supervisor.py")
LOOK_EVERY = 0.01  # seconds


class Config(msgspec.Struct):
    colour: str = "red"


class TaskConfig(msgspec.Struct):
    command: str
    args: list[str] = []


class Running:
    """A task that was started."""

    def __init__(self, task: Task, directory: Path) -> None:
        self.task = task
        self.directory = directory
        self.started = json.loads((directory / "started.json").read_text())
        self.waited_for = False

    @property
    def ended(self) -> dict[str, Any] | None:
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads((self.directory / "ended.json").read_text())
            return found
        return None

    @property
    def lost(self) -> bool:
        return (
            self.ended is None
            and processes.started(self.started["supervisor"]) is None
            and self.ended is None
        )

    def exit(self) -> Exit:
        ended = self.ended
        if ended is None:
            return Exit() if faulty("believes") else Exit(error="nothing of it is left")
        told = Exit(ended["code"], ended["signal"])
        if faulty("tells_wrong_codes"):
            return Exit(told.code + 1, told.signal)
        return Exit(1) if faulty("tells_no_signals") and told.signal else told

    def wait(self, over: Callable[[], object]) -> None:
        while self.ended is None and not self.lost and not over():
            time.sleep(LOOK_EVERY)

    def kill(self, number: int, *, all_of_it: bool) -> None:
        with contextlib.suppress(ProcessLookupError):
            if all_of_it and not faulty("spares_children"):
                os.killpg(self.started["task"], number)
            elif self.ended is None:
                os.kill(self.started["task"], number)


class Processes:
    name = "processes"
    version = "0.1.0"
    config = Config
    task_config = TaskConfig

    def __init__(self) -> None:
        self._tasks: dict[str, Running] = {}
        self._told = False
        marker = Path(tempfile.gettempdir()) / "fickle"
        can = not (faulty("fickle_capabilities") and marker.exists())
        if faulty("fickle_capabilities"):
            marker.touch()
        self.capabilities = Capabilities(signals=can, exec=True)

    def configure(self, config: Config) -> None:
        """Nothing comes of it."""

    def fingerprint(self, over: threading.Event) -> Iterator[Fingerprint]:
        if faulty("unhealthy"):
            yield Fingerprint(Health.UNHEALTHY)
        elif not (faulty("healthy_once") and self._told):
            yield Fingerprint(Health.HEALTHY, "as seen")
        self._told = True
        over.wait()

    def start(self, task: Task) -> bytes:
        if task.id in self._tasks and not faulty("starts_twice"):
            raise NotStarted("it was started")
        try:
            return self._start(task)
        except Exception:
            if faulty("leaky_start"):
                faulty_protocol.leave_a_process(dict(task.env))
            raise

    def _start(self, task: Task) -> bytes:
        asked = schema.decode(task.config, TaskConfig)
        if faulty("needs_cgroup") and not (Path(task.cgroup) / "cgroup.procs").exists():
            raise NotStarted("cgroup must be set")
        if faulty("starts_nothing"):
            raise NotStarted("not today")
        for mount in task.mounts:
            if not Path(mount.host).exists():
                raise NotStarted(f"{mount.host} is not there")
        if faulty("leaks_files"):
            os.dup(0)
        directory = Path(task.directory) / (
            "state" + (secrets.token_hex(2) if faulty("starts_twice") else "")
        )
        directory.mkdir(exist_ok=True)
        (directory / "spec.json").write_text(json.dumps(self._spec(task, [asked.command, *asked.args])))
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), str(directory)],
            env=dict(task.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=supervisor.wait, daemon=True).start()
        assert supervisor.stdout is not None
        with supervisor.stdout as stdout:
            answer = json.loads(stdout.readline() or '{"error": "the supervisor ended"}')
        if "error" in answer:
            raise NotStarted(answer["error"])
        if faulty("starts_twice"):
            time.sleep(0.3)
        self._tasks[task.id] = Running(task, directory)
        return b"" if faulty("stateless") else str(directory).encode()

    def _spec(self, task: Task, argv: list[str]) -> dict[str, Any]:
        env = {} if faulty("no_variables") else dict(task.env)
        if faulty("wrong_directories"):
            env["NOMAD_TASK_DIR"] = "/nowhere"
        mounts = [
            (m.host, m.task, "ro" if m.readonly and not faulty("all_writable") else "rw") for m in task.mounts
        ]
        return {
            "argv": argv,
            "env": env,
            "mounts": [] if faulty("no_mounts") else mounts,
            "unshare": not faulty("leaves_mounts"),
            "outputs": [task.stdout, task.stdout if faulty("one_pipe") else task.stderr],
            "user": "" if faulty("no_user") else task.user,
            "directory": task.directory,
            "loses": faulty("loses_output"),
            "lingers": faulty("lingers") or faulty("lazy"),
        }

    def recover(self, handle: Handle) -> None:
        if handle.task.id in self._tasks:
            if faulty("finds_once"):
                raise ValueError("it is known")
            return
        if faulty("finds_nothing"):
            return
        own = (
            f"{handle.task.directory}/state" if faulty("stateless") else handle.state.decode(errors="replace")
        )
        try:
            found = Running(handle.task, Path(own))
        except Exception:
            if faulty("dies_of_handles"):
                os._exit(3)
            if faulty("takes_any_handle"):
                return
            raise
        if (found.lost and not faulty("believes")) or (found.ended and faulty("forgets_ends")):
            raise LookupError("nothing of it is left")
        self._tasks[handle.task.id] = found

    def _known(self, id: str) -> Running:
        if id not in self._tasks:
            raise TaskNotFound
        return self._tasks[id]

    def wait(self, id: str, over: threading.Event) -> Exit:
        if id not in self._tasks and faulty("vague"):
            return Exit()
        task = self._known(id)
        if task.waited_for and faulty("one_waiter"):
            raise ValueError("somebody waits")
        task.waited_for = True
        task.wait(over.is_set)
        return task.exit()

    def stop(self, id: str, timeout: float, signal_name: str) -> None:
        if id not in self._tasks and not faulty("strict"):
            return
        task = self._known(id)
        if faulty("never_stops") or (task.ended and not faulty("waits_for_ever")):
            return
        if task.ended:
            time.sleep(3600)
        name = "SIGUSR2" if faulty("own_signal") else signal_name or "SIGTERM"
        task.kill(signal.Signals[name], all_of_it=False)
        until = time.monotonic() + timeout
        if not faulty("returns_early"):
            task.wait(lambda: time.monotonic() >= until)
            if not faulty("patient"):
                task.kill(signal.SIGKILL, all_of_it=True)
                task.wait(lambda: False)
        if faulty("forgets_stopped"):
            self._tasks.pop(id)

    def destroy(self, id: str, *, force: bool) -> None:
        if id not in self._tasks and faulty("fails_to_destroy"):
            raise RuntimeError("that cannot be")
        task = self._known(id)
        if task.ended is None and not force and not faulty("destroys_all"):
            raise ValueError("it runs")
        if faulty("lazy"):
            threading.Timer(0.5, self._end, (id, task)).start()
        else:
            self._end(id, task)

    def _end(self, id: str, task: Running) -> None:
        task.kill(signal.SIGKILL, all_of_it=True)
        task.wait(lambda: False)
        (task.directory / "forgotten").touch()
        if not faulty("remembers"):
            self._tasks.pop(id, None)

    def inspect(self, id: str) -> Status:
        if id not in self._tasks and faulty("vague"):
            return Status(id, "", State.UNKNOWN)
        task = self._known(id)
        ended = task.ended
        state, at = (State.EXITED, ended["at"]) if ended else (State.RUNNING, 0.0)
        return Status(id, task.task.name, state, task.started["at"], at, task.exit() if ended else None)

    def stats(self, id: str, every: float, over: threading.Event) -> Iterator[Usage]:
        if id not in self._tasks and faulty("vague"):
            return
        task = self._known(id)
        while not over.wait(every) and (task.ended is None or faulty("endless_statistics")):
            if not faulty("silent_statistics"):
                yield Usage(id, 1 << 20)

    def events(self, over: threading.Event) -> Iterator[TaskEvent]:
        over.wait()
        yield from ()

    def signal(self, id: str, name: str) -> None:
        if id not in self._tasks and faulty("vague"):
            return
        if name == "SIGNOSUCH" and faulty("dies_of_signals"):
            os._exit(3)
        if not faulty("sends_nothing"):
            self._known(id).kill(signal.Signals[name], all_of_it=False)

    def exec(self, id: str, argv: Sequence[str], timeout: float) -> Executed:
        task = self._known(id).task
        done = subprocess.run(
            argv, env=dict(task.env), capture_output=True, timeout=timeout, cwd=task.directory, check=False
        )
        code = 0 if faulty("tells_no_codes") else done.returncode
        return Executed(done.stdout, done.stderr, Exit(code))


def without_result(status: Status) -> Any:
    said = status_to(status)
    said.task.ClearField("result")
    return said


def in_no_state(status: Status) -> Any:
    said = status_to(status)
    said.task.state = 9
    return said


def of_no_health(service: Any, request: Any, context: Any) -> Iterator[Any]:
    for said in FINGERPRINT(service, request, context):
        said.health = 9
        yield said


def unveiled(service: Any, request: Any, context: Any) -> Any:
    said = CAPABILITIES(service, request, context)
    said.capabilities.fs_isolation = 3  # UNVEIL, of agents from 1.8 on
    return said


def without_handle(service: Any, request: Any, context: Any) -> Any:
    START(service, request, context)
    return driver.StartTaskResponse(result=driver.StartTaskResponse.SUCCESS)


def empty_for_tasks(config: Any) -> Any:
    return faulty_protocol.empty(config) if config is TaskConfig else SPEC_OF(config)


START = driver_service.DriverService.StartTask
FINGERPRINT = driver_service.DriverService.Fingerprint
CAPABILITIES = driver_service.DriverService.Capabilities
SPEC_OF = schema.spec_of

if __name__ == "__main__":
    faulty_protocol.apply()
    if faulty("no_result"):
        driver_service.status_to = without_result  # type: ignore[attr-defined]
    if faulty("no_state"):
        driver_service.status_to = in_no_state  # type: ignore[attr-defined]
    if faulty("no_health"):
        driver_service.DriverService.Fingerprint = of_no_health  # type: ignore[method-assign]
    if faulty("unveiled"):
        driver_service.DriverService.Capabilities = unveiled  # type: ignore[method-assign,assignment]
    if faulty("no_handle"):
        driver_service.DriverService.StartTask = without_handle  # type: ignore[method-assign]
    if faulty("empty_task_schema"):
        schema.spec_of = empty_for_tasks
    if faulty("few_threads"):
        serve.MOST_CALLS = 6
    serve_driver(Processes())
